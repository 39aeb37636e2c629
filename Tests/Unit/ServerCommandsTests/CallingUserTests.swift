import Testing

@testable import ServerCommands

@Suite struct CallingUserTests {
  /// audit(7), pam_loginuid(8): the greatest number says that nobody has signed in.
  @Test(arguments: [("1000\n", 1_000), ("0", 0), ("4294967295", nil), ("", nil), ("x", nil)] as [(String, UInt32?)])
  func theKernelSaysWhoSignedIn(_ text: String, _ user: UInt32?) {
    #expect(CallingUser.loginUser(in: text) == user)
  }
}
