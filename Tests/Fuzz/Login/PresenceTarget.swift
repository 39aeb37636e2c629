import FuzzKit
import PresenceLink

@testable import HostState
@testable import HostSystem

/// What is read about phones that are looked for by Bluetooth: the file of bound phones, BlueZ's file of a pairing, the
/// probe's packets and the helper's own notes. The same input is given to each of them.
func fuzzPresence(_ input: [UInt8]) {
  fuzzBoundPhones(input)
  fuzzBond(input)
  if let request = ProbeRequest(bytes: input) {
    must(ProbeRequest(bytes: request.bytes) == request, "a question is read otherwise than written")
  }
  if let reply = ProbeReply(bytes: input) {
    must(ProbeReply(bytes: reply.bytes) == reply, "an answer is read otherwise than written")
    must((0...ProbeReply.greatestTime).contains(reply.milliseconds), "a look that lasts too long")
    must(
      reply.answer.description.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "an answer that moves the log's lines")
  }
  for user in PresenceStates.users(input) ?? [] {
    must(user.since >= 0 && user.since < 1 << 41, "a time that sums overflow with")
    must(user.user.text.utf8.allSatisfy { $0 > 0x20 }, "a name that is not a name")
  }
}

/// Every line of an accepted file is a phone, written as `iampassctl presence use` writes it. A refused one names the
/// line.
private func fuzzBoundPhones(_ text: [UInt8]) {
  let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  let bound: BoundPhones
  do throws(BoundPhonesError) { bound = try BoundPhones(parsing: text) } catch {
    switch error {
    case .badLine(let line), .phoneTwice(let line):
      must((1...lines.count).contains(line) && !lines[line - 1].isEmpty, "there is no line \(line)")
    case .tooManyPhones: must(lines.count > BoundPhones.greatestCount, "too many phones in too few lines")
    case .file: must(false, "there is no file")
    }
    return
  }
  let said = lines.count { line in line.first { $0 != 0x20 && $0 != 0x09 }.map { $0 != UInt8(ascii: "#") } ?? false }
  must(bound.phones.count == said, "a line is left out")
  must(bound.phones.count <= BoundPhones.greatestCount, "too many phones")
  must(Set(bound.phones.map(\.phone)).count == bound.phones.count, "a phone stands there twice")
  must(bound.phones.allSatisfy { isDigest($0.keyDigest) }, "a pin that is not a digest")
  let written = bound.phones.map { "\($0.user.text) \($0.adapter) \($0.phone) \($0.keyDigest)\n" }.joined()
  must((try? BoundPhones(parsing: Array(written.utf8))) == bound, "read otherwise than written")
}

private func fuzzBond(_ text: [UInt8]) {
  guard let adapter = BluetoothAddress("00:AA:01:00:00:00"), let phone = BluetoothAddress("00:AA:01:01:00:01"),
    let device = BondedDevice(adapter: adapter, address: phone, parsing: text)
  else { return }
  must(isDigest(device.keyDigest), "a pairing without a digest")
  must(text.text.contains("[LinkKey]"), "a key from nowhere")
  must(BondState(pinned: String(repeating: "0", count: 64), device) == .keyChanged, "any key is the pinned one")
  must(BondState(pinned: device.keyDigest, device) == .bound, "the pinned key is another one")
}

private func isDigest(_ text: String) -> Bool {
  text.utf8.count == 64 && text.allSatisfy { "0123456789abcdef".contains($0) }
}
