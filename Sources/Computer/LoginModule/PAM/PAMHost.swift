import CHost
import CPAM
import Glibc
import HostState
import IAMPASSProtocol

/// The PAM host behind a handle: items, data, environment and log. All calls into libpam are here and in
/// `HostConversation.swift`.
struct PAMHost {
  /// SAFETY: libpam owns the handle and keeps it through the module's call, which every use of this value is inside.
  let handle: OpaquePointer

  var service: String { item(PAM_SERVICE) ?? "" }

  /// PAM_USER; the host asks for the name if it is not set. Nil if the host has no name.
  func user() -> String? {
    var name: UnsafePointer<CChar>?
    guard pam_get_user(handle, &name, nil) == PAM_SUCCESS, let name else { return nil }
    return String(cString: name)
  }

  /// The present PAM_USER as bytes: two names that are equal texts in Swift may be two users.
  var userBytes: [UInt8]? {
    guard let name = iampass_pam_item(handle, PAM_USER) else { return nil }
    // SAFETY: libpam's own terminated text, which it keeps until the item is set again.
    return Array(UnsafeRawBufferPointer(start: name, count: strlen(name)))
  }

  /// A text item; nil if the item is not set, or empty.
  func item(_ item: Int32) -> String? {
    guard let value = iampass_pam_item(handle, item) else { return nil }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
  }

  /// Whether there is a password. An empty one counts, because an earlier module has taken it.
  var hasPassword: Bool { iampass_pam_item(handle, PAM_AUTHTOK) != nil }

  /// PAM_AUTHTOK; nil if it is not set.
  func password() -> Secret? {
    // SAFETY: libpam's own terminated text, which it keeps until the item is set again.
    iampass_pam_item(handle, PAM_AUTHTOK).map { Secret(copying: UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
  }

  func setPassword(_ password: Secret) -> Bool {
    // SAFETY: libpam copies the terminated text.
    password.withTerminatedBytes { pam_set_item(handle, PAM_AUTHTOK, $0) } == PAM_SUCCESS
  }

  func environment(_ name: String) -> String? { pam_getenv(handle, name).map { String(cString: $0) } }

  func setEnvironment(_ name: String, _ value: String) -> Bool { pam_putenv(handle, "\(name)=\(value)") == PAM_SUCCESS }

  func removeEnvironment(_ name: String) { pam_putenv(handle, name) }

  /// Writes one line to authpriv, with control characters replaced.
  func log(_ priority: Int32, _ text: String) {
    iampass_pam_log(handle, priority, DisplayText.sanitized(text, limit: 1_000))
  }

  /// Keeps an object with the handle, in place of an earlier one of this name.
  func keep(_ object: AnyObject, as name: String, cleanUp: @escaping PAMCleanUp) -> Bool {
    let retained = Unmanaged.passRetained(object)
    guard pam_set_data(handle, name, retained.toOpaque(), cleanUp) == PAM_SUCCESS else {
      retained.release()
      return false
    }
    return true
  }

  /// Removes the object of this name. Its clean-up is called as for one that is replaced.
  func forget(_ name: String) { pam_set_data(handle, name, nil, nil) }

  func kept<Object: AnyObject>(_ name: String, as type: Object.Type) -> Object? {
    var data: UnsafeRawPointer?
    guard pam_get_data(handle, name, &data) == PAM_SUCCESS, let data else { return nil }
    // SAFETY: only `keep` stores under our names, one type a name, and libpam still holds the reference.
    return Unmanaged<Object>.fromOpaque(data).takeUnretainedValue()
  }
}

/// The function that libpam calls when data is removed, with handle, data, and a status with flags.
typealias PAMCleanUp = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, Int32) -> Void
