import IAMPASSProtocol

/// The fields of a request to an OAuth endpoint (RFC 6749 §3.2): a form in the body, each name once at most.
struct OpenIDForm: Sendable {
  private let fields: RequestTarget

  init(_ request: ServiceRequest) throws(OpenIDError) {
    let types = request.values(of: ["Content-Type"])
    guard types.count == 1,
      types[0].prefix(while: { $0 != ";" }).trimming(" \t").lowercased() == "application/x-www-form-urlencoded",
      let text = String(validating: request.body, as: UTF8.self),
      let fields = RequestTarget(Substring("/?" + text))
    else { throw OpenIDError(.invalidRequest, "send the parameters as a form, in UTF-8") }
    // This also applies to parameters that are not read here (RFC 6749 §3.2): another reader could use the other value.
    guard Set(fields.query.map(\.name)).count == fields.query.count else {
      throw OpenIDError(.invalidRequest, "send each parameter once")
    }
    self.fields = fields
  }

  /// Nil if the form has no such field, or an empty one.
  func value(_ name: String) -> String? {
    fields.value(name).flatMap { $0.isEmpty ? nil : $0 }
  }
}
