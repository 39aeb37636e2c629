// Rules of the product written down a second time, from the documentation and not from its sources.

/// Whether `address` leads to https://iampass.test and nowhere else, in any reader's eyes; written for that one service.
public func leadsToTheService(_ address: String) -> Bool {
  let bytes = Array(address.utf8)
  guard bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }) else { return false }
  // A path from the root; "//host" would be another host.
  if bytes.first == UInt8(ascii: "/") { return bytes.dropFirst().first != UInt8(ascii: "/") }
  let lower = address.lowercased()
  let origin = ["https://iampass.test:443", "https://iampass.test"].first { lower.hasPrefix($0) }
  guard let origin else { return false }
  let after = lower.dropFirst(origin.count).first
  return after == nil || after == "/" || after == "?"
}

/// 24 characters, or 32 of base64 that stand for 24 bytes.
public func isDocumentedSecret(_ text: String) -> Bool {
  let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  return text.utf8.count == 24 || text.utf8.count == 32 && text.utf8.allSatisfy { alphabet.contains($0) }
}

/// Printable ASCII without space, 512 at most: what can stand in a header and an address.
public func isPlainWord(_ text: String) -> Bool {
  (1...512).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
}
