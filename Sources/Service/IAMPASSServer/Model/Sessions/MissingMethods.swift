import IAMPASSProtocol

/// Methods that a computer requires and a phone lacks. The phone shows this, and its user can add them. If another
/// phone of the user has them, this is not shown.
struct MissingMethods: Sendable, Equatable {
  let phone: String
  let methods: [AuthenticationMethod]

  /// Nil if the phone can add none of the required methods.
  ///
  /// - Parameter addable: see ``addable(mayVouchForFace:)``.
  init?(
    _ asked: [AuthenticationMethod], phone: String, having: [AuthenticationMethod], addable: [AuthenticationMethod]
  ) {
    methods = addable.filter { asked.contains($0) && !having.contains($0) }
    self.phone = phone
    if methods.isEmpty { return nil }
  }

  /// The methods that a phone can add, weakest first. Only an app that may vouch for a face can add that.
  static func addable(mayVouchForFace: Bool) -> [AuthenticationMethod] {
    mayVouchForFace ? [.facial, .device] : [.device]
  }

  /// - Parameter asked: the stored methods. Words of a later version are left out.
  static func left(
    _ asked: [String], having: [AuthenticationMethod], addable: [AuthenticationMethod]
  ) -> [AuthenticationMethod] {
    addable.filter { asked.contains($0.rawValue) && !having.contains($0) }
  }
}
