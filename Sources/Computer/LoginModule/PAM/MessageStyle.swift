import CPAM

extension PAMAnswer {
  /// The message style of the line for the user. When a conversation of GDM fails, gnome-shell replaces informational
  /// lines by its own line about passwords, but keeps errors.
  func style(for refusal: Refusal) -> Int32 {
    code(for: refusal) == PAM_PERM_DENIED ? PAM_ERROR_MSG : PAM_TEXT_INFO
  }
}
