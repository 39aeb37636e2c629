import FuzzKit
import IAMPASSProtocol

/// What the product reads is what the second reader reads; and what it writes, it reads back.
func fuzzJSON(_ text: [UInt8]) {
  let reference = ReferenceJSON(text)
  guard let json = try? JSON(parsing: text) else {
    must(reference.map { !isForEverybody($0) } ?? true, "plain JSON is refused")
    return
  }
  guard let reference else { return must(false, "invalid or ambiguous JSON is accepted") }
  must(isSame(json, reference), "read otherwise than written: \(json)")
  let encoded = json.encoded()
  must((try? JSON(parsing: encoded)) == json, "written otherwise than read: \(encoded.text)")
  must(ReferenceJSON(encoded).map { isSame(json, $0) } == true, "the written text is not JSON: \(encoded.text)")
  let canonical = json.canonicallyEncoded()
  must((try? JSON(parsing: canonical))?.canonicallyEncoded() == canonical, "the canonical form is not one")
}

/// Whether every reader must take it: not deep, and its numbers in range.
private func isForEverybody(_ json: ReferenceJSON) -> Bool {
  json.depth < Int(JSON.greatestDepth) - 1
    && !json.contains {
      guard case .number(let text) = $0 else { return false }
      return isInteger(text) ? Int64(text) == nil : Double(text)?.isFinite != true
    }
}

private func isInteger(_ number: String) -> Bool { !number.contains { ".eE".contains($0) } }

private func isSame(_ json: JSON, _ reference: ReferenceJSON) -> Bool {
  switch (json, reference) {
  case (.null, .null): true
  case (.bool(let left), .bool(let right)): left == right
  case (.integer(let value), .number(let text)): isInteger(text) && Int64(text) == value
  case (.number(let value), .number(let text)): !isInteger(text) && Double(text) == value
  case (.string(let text), .string(let bytes)): Array(text.utf8) == bytes
  case (.array(let left), .array(let right)): left.count == right.count && zip(left, right).allSatisfy(isSame)
  case (.object(let left), .object(let right)):
    left.count == right.count
      && zip(left, right).allSatisfy { Array($0.name.utf8) == $1.name && isSame($0.value, $1.value) }
  default: false
  }
}
