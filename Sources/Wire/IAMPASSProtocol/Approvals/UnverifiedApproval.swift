/// A phone's signed approval from the service, parsed. Nothing is verified.
package struct UnverifiedApproval {
  /// The service's name for the phone.
  package let phone: String
  /// The statement as it was signed.
  package let signed: JSON
  /// The same statement, parsed.
  package let statement: AnswerStatement
  package let signature: ECDSASignature
  /// Comes with the method `device`.
  package let assertion: UnverifiedAssertion?

  /// Throws if a part is missing or malformed, also if a number of the signature is out of range.
  package init(_ json: JSON) throws(MessageError) {
    phone = try json.text("phone")
    guard let signed = json["statement"] else { throw .member("statement") }
    // The service accepts older phones that do not send these members. Here an unsigned member must not decide
    // anything.
    _ = try signed.text("method")
    // Empty for a document, which needs no digits.
    guard signed["code"]?.string != nil else { throw .member("code") }
    self.signed = signed
    statement = try AnswerStatement(signed)
    guard let raw = Base64.decode(try json.text("signature")), let signature = ECDSASignature(raw: raw) else {
      throw .member("signature")
    }
    self.signature = signature
    assertion = try json.optional("assertion", UnverifiedAssertion.init)
  }
}
