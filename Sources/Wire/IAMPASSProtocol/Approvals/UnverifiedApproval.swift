/// What a phone signed, as the service hands it on. Taken apart; nothing is verified.
package struct UnverifiedApproval {
  /// The service's name for the phone.
  package let phone: String
  /// The statement as it was signed.
  package let signed: JSON
  /// The same, taken apart.
  package let statement: AnswerStatement
  package let signature: ECDSASignature
  /// Comes with the method `device`.
  package let assertion: UnverifiedAssertion?

  /// Throws: if a part is missing or malformed, also a signature whose numbers are out of range.
  package init(_ json: JSON) throws(MessageError) {
    phone = try json.text("phone")
    guard let signed = json["statement"] else { throw .member("statement") }
    // Their absence means something to the service, for phones of before. Here nothing rests on what was not signed.
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
