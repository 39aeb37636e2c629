import HostState

extension LogindEvent {
  /// Nil if the message is another signal.
  init?(_ message: BusMessage) {
    if message.isBroadcast("SessionRemoved", of: BusObject.logind.interface) {
      guard let id = message.string() else { return nil }
      self = .sessionRemoved(id)
    } else if message.isBroadcast("PrepareForSleep", of: BusObject.logind.interface) {
      guard let isBefore = message.bool() else { return nil }
      self = .preparesForSleep(isBefore)
    } else if message.isBroadcast("NameOwnerChanged", of: "org.freedesktop.DBus") {
      guard message.string() == BusObject.logind.service, message.string() != nil, let owner = message.string(),
        !owner.isEmpty
      else { return nil }
      self = .reconnected
    } else {
      return nil
    }
  }
}

extension LogindSession {
  static let interface = "org.freedesktop.login1.Session"

  /// Reads the reply of `GetAll`; nil if something is missing or has another type.
  init?(properties reply: BusMessage) {
    var texts: [String: String] = [:]
    var numbers: [String: UInt32] = [:]
    var isRemote: Bool?
    let all = reply.array(of: "{sv}") {
      reply.inside("e", "sv") { () -> Bool? in
        guard let name = reply.string(), let contents = reply.variantContents() else { return nil }
        switch (name, contents) {
        case ("Id", "s"), ("Class", "s"), ("Type", "s"), ("Scope", "s"), ("State", "s"),
          ("Service", "s"):
          texts[name] = reply.inside("v", contents) { reply.string() }
        case ("Seat", "(so)"):
          texts[name] = reply.inside("v", contents) { reply.structure("so") { reply.string() } }
        case ("User", "(uo)"):
          numbers[name] = reply.inside("v", contents) { reply.structure("uo") { reply.unsigned() } }
        case ("Leader", "u"): numbers[name] = reply.inside("v", contents) { reply.unsigned() }
        case ("Remote", "b"): isRemote = reply.inside("v", contents) { reply.bool() }
        default: return reply.skip("v") ? true : nil
        }
        return true
      }
    }
    guard all != nil, let id = texts["Id"], let isRemote, let uid = numbers["User"], let type = texts["Type"],
      let leader = numbers["Leader"].flatMap({ Int32(exactly: $0) }), leader > 0,
      let sessionClass = texts["Class"], let seat = texts["Seat"], let scope = texts["Scope"],
      let state = texts["State"]
    else { return nil }
    self.init(
      id: id, leader: leader, uid: uid, sessionClass: sessionClass, type: type, isRemote: isRemote, seat: seat,
      scope: scope, isClosing: state == "closing", service: texts["Service"] ?? "")
  }
}

extension BusMessage {
  /// Reads a structure of two members, and returns the first. The second is an object's path.
  fileprivate func structure<First>(_ contents: String, _ first: () -> First?) -> First? {
    inside("r", contents) {
      guard let value = first(), skip("o") else { return nil }
      return value
    }
  }
}
