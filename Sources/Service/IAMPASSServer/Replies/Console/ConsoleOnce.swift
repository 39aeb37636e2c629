import IAMPASSProtocol

// Pages that answer a form directly, since they show a secret that is shown only once.

extension Console {
  /// The file's path in the commands that the page shows. No other program reads the file.
  private static let file = "/root/iampass-credential"

  func newApplicationPage(_ made: Application, _ visitor: Visitor) -> ServiceReply {
    let path = base + "/application/\(made.id)"
    let content: HTML = """
      <section aria-labelledby="next">
      <h2 id="next">Next: its computers and users</h2>
      <ol>
      <li>Make a join code on the page of <a href="\(base)/joins">computers</a>. Each computer that joins gets a
      credential of its own.</li>
      <li>Add users on the page of <a href="\(path)">\(made.name)</a>. A link for each user's phone is shown there.</li>
      </ol>
      </section>
      <section aria-labelledby="credential">
      <h2 id="credential">The application's own credential</h2>
      <p>A computer that only joins does not need it. A computer that manages users and phones by command does, with
      <code>iampassctl</code>'s <code>--credentials</code>.</p>
      \(steps(id: made.id, made.secret, host: nil))
      <p><a href="\(path)">Done</a></p>
      </section>
      """
    return show("New application \(made.name)", content, visitor: visitor)
  }

  func newSecretPage(_ secret: Secret, of application: Application, _ visitor: Visitor) -> ServiceReply {
    let content: HTML = """
      <section aria-labelledby="title">
      <p>Do this again on each computer that had the old secret.</p>
      \(steps(id: application.id, secret, host: nil))
      <p><a href="\(base)/application/\(application.id)">Done</a></p>
      </section>
      """
    return show("New secret of \(application.name)", content, visitor: visitor)
  }

  func newCredentialPage(_ made: HostCredential, _ visitor: Visitor) -> ServiceReply {
    let content: HTML = """
      <section aria-labelledby="title">
      \(steps(id: made.id, made.secret, host: made.host))
      <p><a href="\(base)/application/\(made.application)">Done</a></p>
      </section>
      """
    return show("New credential for \(made.host)", content, visitor: visitor)
  }

  /// The steps: the file for the lines, and the next command.
  ///
  /// - Parameter host: the computer that the credential is for; nil for an application's own.
  private func steps(id: String, _ secret: Secret, host: String?) -> HTML {
    let lines = NewCredential(id: id, secret: secret, server: publicURL?.description, host: host).text
    let server = publicURL == nil ? " --server \(call.address.url)" : ""
    let place: HTML = host.map { "On \($0)" } ?? "On such a computer"
    let end: HTML =
      host == nil
      ? "<p>Keep the file there, for root alone: whoever reads it can act as the application.</p>"
      : "<p>Then delete the file. No command needs it again.</p><pre>rm \(Self.file)</pre>"
    return """
      <p>\(place), as root, type this, and paste the lines below. Ctrl-D ends them. The secret is shown only once.</p>
      <pre>(umask 077; cat &gt;\(Self.file))</pre>
      <pre id="lines">\(lines: lines)</pre>
      <p>Then type this. It tries the credential, and writes it to <code>/etc/iampass/credentials</code>.</p>
      <pre>iampassctl setup\(server) --secret-file \(Self.file)</pre>
      \(end)
      """
  }

  /// - Parameter pins: whether the phone is a user's, whose computers may verify approvals.
  func linkPage(_ link: String, name: String, back: String, pins: Bool = true, _ visitor: Visitor) -> ServiceReply {
    let hint: HTML = """
      <p class="soft">This link does not have the <code>#pin</code> that <code>iampassctl enroll</code> adds: computers
      prove a phone's keys by it, and the service must not know it. On each computer with
      <code>approvals = verified</code> whose list of users no administrator's phone signs, run this as root once the phone
      is registered. It asks for the six words that the phone shows.</p>
      <pre>iampassctl phone trust USER</pre>
      """
    let content: HTML = """
      <section aria-labelledby="title">
      <p>\(name)'s phone opens this link, once, within \(Link.lifetime / 60) minutes.</p>
      \(QRCode(link)?.svg(title: "QR code of the registration link") ?? .nothing)
      <pre id="link">\(link)</pre>
      \(pins ? hint : .nothing)
      <p><a href="\(base + back)">Done</a></p>
      </section>
      """
    return show("Register a phone", content, visitor: visitor)
  }
}
