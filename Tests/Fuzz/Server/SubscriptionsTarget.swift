import DeviceProtocol
import Foundation
import FuzzKit
import IAMPASSProtocol

@testable import IAMPASSServer

/// A phone's push subscription: an https address by name, requested as it was given, and valid keys.
///
/// The lines are `endpoint`, `p256dh` and `auth`; `$point` stands for a point on the curve.
func fuzzSubscriptions(_ input: [UInt8]) {
  let lines = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  guard lines.count == 3 else { return }
  let point = lines[1].text.replacingOccurrences(of: "$point", with: knownPoint)
  let received = UnverifiedPushSubscription(endpoint: lines[0].text, p256dh: point, auth: Secret(lines[2].text))
  guard let subscription = PushSubscription(received) else { return }
  must(point.count == 87 && Base64URL.decode(point)?.first == 4, "a key that is not a point")
  must(Base64URL.decode(lines[2].text)?.count == 16, "a secret of another length")
  checkAddress(subscription, endpoint: lines[0].text)
  let sealed = try? subscription.sealing.seal(Array("hello".utf8))
  // RFC 8188: salt, size, the sender's key, then text, delimiter and tag.
  must(sealed?.count == 16 + 4 + 1 + 65 + 5 + 1 + 16, "nothing can be sealed for it")
}

private let knownPoint: String = {
  guard let key = try? DeviceKey.generate(), let point = try? key.publicKey.point else { fatalError("there is no key") }
  return Base64URL.encode(point)
}()

private func checkAddress(_ subscription: PushSubscription, endpoint: String) {
  must(endpoint.lowercased().hasPrefix("https://"), "rings without TLS")
  must((1...65_535).contains(subscription.port), "rings at no port")
  let host = subscription.host
  let label = host.split(separator: ".").last ?? ""
  must(
    !host.isEmpty && !label.allSatisfy(\.isNumber) && !host.contains { "[]:/@?# ".contains($0) },
    "rings a number: \(host)")
  must(subscription.target.hasPrefix("/"), "asks for no path")
  for text in [subscription.target, subscription.origin] {
    must(text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a line of the request is broken")
  }
  // The authority is told in lower case and without the usual port; the rest is as received.
  let rest = endpoint.dropFirst("https://".count)
  let authority = rest.prefix { $0 != "/" && $0 != "?" }.lowercased()
  let said = [host, host + ":" + String(subscription.port)]
  must(
    said.contains(authority) || Int(authority.split(separator: ":").last ?? "") == subscription.port, "rings elsewhere")
  must(authority == host || authority.hasPrefix(host + ":"), "rings another: \(host)")
  let target = String(rest.dropFirst(authority.count))
  must([target, "/" + target].contains(subscription.target), "asks for another path: \(subscription.target)")
}
