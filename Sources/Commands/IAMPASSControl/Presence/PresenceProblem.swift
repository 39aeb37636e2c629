import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol
import PresenceLink

/// Why a command about phones that are looked for by Bluetooth stops.
enum PresenceProblem: Error, Equatable {
  case badAddress(String)
  /// BlueZ has no bond with this device.
  case notBonded(BluetoothAddress)
  /// Two adapters of this computer have a bond with it.
  case severalAdapters(BluetoothAddress)
  /// Digits were not compared when the phone was paired.
  case keyNotAuthenticated(BluetoothAddress)
  case boundToAnother(BluetoothAddress, UnixUsername)
  case notBound(BluetoothAddress)
  case nothingBound
  /// The key was replaced while the phone was looked for.
  case keyChanged(BluetoothAddress)
  case badFile(BoundPhonesError, path: String)
  /// There is no listener at the probe's socket. Has errno.
  case noProbe(path: String, Int32)
  /// The probe's answer was not valid, or did not come in time.
  case probeFailed
  /// A look that did not find the phone.
  case notNear(BluetoothAddress, ProbeAnswer, adapter: BluetoothAddress)

  var message: String {
    switch self {
    case .badAddress(let text): "\(DisplayText.sanitized(text, limit: 64)) is not a Bluetooth address"
    case .notBonded(let phone): "\(phone) is not paired with this computer"
    case .severalAdapters(let phone): "\(phone) is paired with several adapters of this computer"
    case .keyNotAuthenticated(let phone):
      "\(phone) was paired without comparing digits, and the configuration has presence_key = authenticated"
    case .boundToAnother(let phone, let user): "\(phone) is bound to user \(user)"
    case .notBound(let phone): "\(phone) is not bound"
    case .nothingBound: "no phone is bound"
    case .keyChanged(let phone): "the key of \(phone) changed while the user was asked; nothing was changed"
    case .badFile(let error, let path): error.explanation(path: path)
    case .noProbe(let path, let number): "\(path) cannot be reached: \(String(cString: strerror(number)))"
    case .probeFailed: "iampass-presence gave no usable answer"
    case .notNear(let phone, .silent, _): "\(phone) does not answer"
    case .notNear(let phone, .impostor, _): "the device that answers as \(phone) does not have the key of its pairing"
    case .notNear(_, .unknown("EAFNOSUPPORT"), _): "this system has no Bluetooth"
    case .notNear(_, .unknown("EHOSTUNREACH"), let adapter): "the Bluetooth adapter \(adapter) is off or missing"
    case .notNear(let phone, .unknown(let reason), _): "\(phone) cannot be looked for: \(reason)"
    case .notNear(let phone, .near, _): "\(phone) is near"
    }
  }

  var hint: String? {
    switch self {
    case .badAddress: "iampassctl presence list, for the addresses of paired phones"
    case .notBonded: "pair the phone, in the desktop's settings or with bluetoothctl; then iampassctl presence list"
    case .severalAdapters: "name the adapter with --adapter; iampassctl presence list --all shows them"
    case .keyNotAuthenticated: "remove the pairing, pair the phone again and compare the digits on both screens"
    case .boundToAnother(let phone, _): "iampassctl presence remove \(phone)"
    case .notBound: "iampassctl presence list"
    case .nothingBound: "iampassctl presence use ADDRESS --user USER"
    case .keyChanged: "if you paired the phone again yourself, run the command again"
    case .badFile(.tooManyPhones, _): "iampassctl presence remove ADDRESS"
    case .badFile: "correct the line or delete it"
    case .noProbe: "systemctl start iampass-presence.socket"
    case .probeFailed: "journalctl --unit=iampass-presence"
    case .notNear(_, .silent, _): "switch on the phone's Bluetooth and hold the phone near the computer"
    case .notNear(_, .impostor, _): "remove the pairing on both sides, and pair the phone again"
    case .notNear(_, .unknown("EAFNOSUPPORT"), _): "the kernel needs Bluetooth; containers do not have it"
    case .notNear(_, .unknown("EHOSTUNREACH"), _): "bluetoothctl power on; if that fails: rfkill list bluetooth"
    case .notNear(_, .unknown, _): "systemctl status bluetooth"
    case .notNear(_, .near, _): nil
    }
  }

  var exitCode: Int32 {
    switch self {
    case .badAddress: EX_USAGE
    case .notBonded, .severalAdapters, .keyNotAuthenticated, .boundToAnother, .notBound, .nothingBound: EX_DATAERR
    case .badFile: EX_CONFIG
    case .keyChanged, .noProbe, .probeFailed, .notNear: EX_TEMPFAIL
    }
  }
}
