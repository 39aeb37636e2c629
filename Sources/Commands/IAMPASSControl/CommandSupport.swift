import CommandSupport
import IAMPASSProtocol
import WorkerLink

extension Interrupt: Interruption {}

extension Terminal {
  static func say(_ json: JSON) { say(String(decoding: json.encoded(), as: UTF8.self)) }
}
