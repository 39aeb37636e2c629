import IAMPASSProtocol

// The notification settings of an application's own apps.

extension Console {
  func notificationsSection(
    _ set: [NotificationSummary], of id: String, _ visitor: Visitor, seen: String
  ) -> HTML {
    var table = ConsoleTable(["Service", "Settings", "Since", ""])
    for one in set {
      let service: HTML = "<input type=\"hidden\" name=\"service\" value=\"\(one.service.rawValue)\">"
      let removal = careful(
        "Remove", notificationsPath(id), visitor,
        "Apps are no longer rung through \(one.service.name). Its key is deleted here. Revoke it there, too.",
        seen: seen, choice: "\(service)<input type=\"hidden\" name=\"kind\" value=\"none\">",
        button: "Remove \(one.service.name)")
      table.add(["\(one.service.name)", "<code>\(one.line)</code>", one.setAt.html, removal])
    }
    return """
      <section aria-labelledby="notifications">
      <h2 id="notifications">Notifications for apps of your own</h2>
      <p class="soft">The phone's page rings without these settings. An app that you built tells the service its device
      token, and is rung through Apple or Google.</p>
      \(table.html(none: "No app is rung."))
      \(appleTokenForm(id, visitor, seen))
      \(appleCertificateForm(id, visitor, seen))
      \(googleForm(id, visitor, seen))
      </section>
      """
  }

  private func notificationsPath(_ id: String) -> String { "/application/\(id)/notifications" }

  private func appleTokenForm(_ id: String, _ visitor: Visitor, _ seen: String) -> HTML {
    notificationForm(
      "Ring through Apple, by a token key", kind: "apple-token", id, visitor, seen,
      """
      \(topicFields)
      <label>Key id <input type="text" name="key_id" required maxlength="10" autocomplete="off"></label>
      <label>Team id <input type="text" name="team_id" required maxlength="10" autocomplete="off"></label>
      \(area("key", "Token key", "The text of AuthKey_….p8."))
      """)
  }

  private func appleCertificateForm(_ id: String, _ visitor: Visitor, _ seen: String) -> HTML {
    notificationForm(
      "Ring through Apple, by a certificate", kind: "apple-certificate", id, visitor, seen,
      """
      \(topicFields)
      \(area("certificate", "Certificate", "In PEM. The command line also takes a PKCS #12 file (.p12)."))
      \(area("key", "Private key", "In PEM, without a passphrase."))
      """)
  }

  private func googleForm(_ id: String, _ visitor: Visitor, _ seen: String) -> HTML {
    notificationForm(
      "Ring through Google", kind: "google", id, visitor, seen,
      area("account", "Service account", "The JSON text of its private key, of the app's Firebase project."))
  }

  private var topicFields: HTML {
    """
    <label>Topic <small>The app's bundle id.</small>
    <input type="text" name="topic" required maxlength="255" autocomplete="off" spellcheck="false"></label>
    <label class="choice"><input type="checkbox" name="sandbox" value="on">
    <span>Sandbox <small>For apps that Xcode installed.</small></span></label>
    """
  }

  private func area(_ name: String, _ title: String, _ note: String) -> HTML {
    """
    <label>\(title) <small>\(note) It is not shown again.</small>
    <textarea name="\(name)" rows="4" required autocomplete="off" spellcheck="false"></textarea></label>
    """
  }

  private func notificationForm(
    _ title: String, kind: String, _ id: String, _ visitor: Visitor, _ seen: String, _ fields: HTML
  ) -> HTML {
    unfolding(
      title, notificationsPath(id), visitor, seen: seen,
      """
      <input type="hidden" name="kind" value="\(kind)">
      \(fields)
      <button>Store</button>
      """)
  }

  func changeNotifications(of id: String, _ visitor: Visitor) async throws -> ServiceReply {
    if field("kind") == "none" {
      guard let service = field("service").flatMap(NotificationService.init(rawValue:)) else {
        return refusal(.badRequest)
      }
      _ = try await storage.removeNotifications(service, of: id)
      return redirect("/application/\(id)", done: .silent)
    }
    do {
      guard let settings = try sentNotifications() else { return refusal(.badRequest) }
      try await storage.setNotifications(settings, of: id, at: now)
      return redirect("/application/\(id)", done: .rings)
    } catch let fault as NotificationFault {
      return try await applicationPage(
        id, visitor, problem: "Nothing was stored: \(fault.explanation). To mend it, \(fault.hint).")
    }
  }

  /// Nil for a form that the console does not have.
  private func sentNotifications() throws(NotificationFault) -> NotificationSettings? {
    let environment: AppleNotifications.Environment = field("sandbox") == "on" ? .sandbox : .production
    switch field("kind") {
    case "apple-token":
      return .apple(
        try AppleNotifications(
          tokenKey: Secret(field("key") ?? ""), keyID: trimmedField("key_id"), teamID: trimmedField("team_id"),
          topic: trimmedField("topic"), environment: environment))
    case "apple-certificate":
      return .apple(
        try AppleNotifications(
          certificate: field("certificate") ?? "", key: Secret(field("key") ?? ""), topic: trimmedField("topic"),
          environment: environment, at: storage.clock.wall()))
    case "google":
      return .google(try GoogleNotifications(serviceAccount: Array((field("account") ?? "").utf8)))
    default: return nil
    }
  }
}
