import IAMPASSProtocol

/// Methods that a computer asked for and a phone lacks: the phone is told so, and its user can add them. Nobody is told if
/// another phone of the user has them.
struct Training: Sendable, Equatable {
  let phone: String
  let methods: [AuthenticationMethod]

  /// Nil if the phone can add none of what was asked for.
  ///
  /// - Parameter addable: see ``addable(mayVouchForFace:)``.
  init?(
    _ asked: [AuthenticationMethod], phone: String, having: [AuthenticationMethod], addable: [AuthenticationMethod]
  ) {
    methods = addable.filter { asked.contains($0) && !having.contains($0) }
    self.phone = phone
    if methods.isEmpty { return nil }
  }

  /// What a phone can add, the weakest first: a face only by an app that may vouch for it.
  static func addable(mayVouchForFace: Bool) -> [AuthenticationMethod] {
    mayVouchForFace ? [.facial, .device] : [.device]
  }

  /// - Parameter asked: as stored. Words of a later version are left out.
  static func left(
    _ asked: [String], having: [AuthenticationMethod], addable: [AuthenticationMethod]
  ) -> [AuthenticationMethod] {
    addable.filter { asked.contains($0.rawValue) && !having.contains($0) }
  }
}
