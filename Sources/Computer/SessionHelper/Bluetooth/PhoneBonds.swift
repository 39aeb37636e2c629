import Glibc
import HostState
import HostSystem
import PresenceLink

/// The pairings of bound phones, compared with their pins before and after each Bluetooth page.
final class PhoneBonds {
  typealias Reader = (BoundPhone) throws(FileError) -> BondedDevice?

  var requiresAuthenticatedKeys = false
  private let read: Reader
  private let log: any HelperLog
  /// The last log line about each phone; none while its pairing is the pinned one.
  private var said: [BluetoothAddress: String] = [:]

  /// - Parameter read: reads the bond that BlueZ has with a phone; nil if there is none.
  init(log: any HelperLog, read: @escaping Reader) {
    self.read = read
    self.log = log
  }

  /// Why the phone's presence cannot be known now; nil if its pairing is the pinned one. Each change is logged.
  func ignorance(of phone: BoundPhone) -> ProbeAnswer? {
    do throws(FileError) {
      let state = BondState(
        pinned: phone.keyDigest, try read(phone), requiresAuthenticated: requiresAuthenticatedKeys)
      say(words(state, phone), phone)
      return state.ignorance
    } catch {
      say(error.explanation, phone)
      return .unknown("bond-unreadable")
    }
  }

  private func say(_ text: String?, _ phone: BoundPhone) {
    guard text != said[phone.phone] else { return }
    said[phone.phone] = text
    let whose = "presence \(LogField.text("user", phone.user.text)):"
    guard let text else { return log.write(LOG_NOTICE, "\(whose) \(phone.phone) has its pairing again") }
    log.write(LOG_WARNING, "\(whose) nothing is known of \(phone.phone): \(text)")
  }

  private func words(_ state: BondState, _ phone: BoundPhone) -> String? {
    let bind = "iampassctl presence use \(phone.phone) --user \(phone.user)"
    return switch state {
    case .bound: nil
    case .keyChanged: "it was paired again with another key; if that was its user: \(bind)"
    case .bondMissing: "it is not paired any more; pair it again, then \(bind)"
    case .keyNotAuthenticated: "nobody compared digits when it was paired; pair it again, then \(bind)"
    }
  }
}
