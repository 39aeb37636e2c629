import FuzzKit

@testable import HostState
@testable import HostSystem
@testable import IAMPASSClient
@testable import IAMPASSProtocol

/// Which phones are a user's: each is a line of that user alone, as this computer would write it. What cannot be read
/// refuses, and does not count as a user without a phone.
///
/// The first line is whom to look for.
func fuzzPhones(_ input: [UInt8]) {
  let pieces = Pieces(input)
  guard let name = pieces.words.first, let user = UnixUsername(validating: name),
    user.text.utf8.first != UInt8(ascii: "#")
  else { return }
  let text = pieces.rest
  let key = Array((user.text + ":").utf8)
  let own = text.split(separator: UInt8(ascii: "\n")).filter { $0.starts(with: key) }.map(Array.init)
  guard let phones = try? PinnedPhones(parsing: text).phones(of: user) else {
    let isOdd = text.contains(0) || text.contains(UInt8(ascii: "\r"))
    must(!own.isEmpty || isOdd, "a user without a line is refused")
    return
  }
  must(phones.map { key + Array($0.fields.utf8) } == own, "read otherwise than written")
  must(phones.count <= PinnedPhones.greatestCount, "too many phones")
  must(Set(phones.map(\.id)).count == phones.count, "a phone stands there twice")
  must(Set(phones.map(\.key.text)).count == phones.count, "a key stands there twice")
  for phone in phones {
    must(phone.key.coordinates.count == 64, "a key of another length")
    must(phone.since >= 0, "a phone from before time began")
    must(phone.name.unicodeScalars.allSatisfy(DisplayText.isPlain), "a name that moves its neighbours")
  }
}
