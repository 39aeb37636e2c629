import DeviceProtocol
import Foundation
import IAMPASSPhone
import IAMPASSProtocol
import Testing

/// `Tests/Support/Service/document-vectors.json`: documents that python3-cryptography signed, with what the phone's page
/// shows of them.
struct DocumentVectors {
  struct Case: CustomTestStringConvertible {
    let json: JSON

    var testDescription: String { json["name"]?.string ?? "" }
    var isMisfit: Bool { json["misfit"] != nil }

    func request() throws -> OpenRequest {
      let request = try #require(json["request"])
      let listing = JSON.object([
        JSON.Member("status", .bool(true)), JSON.Member("requests", .array([request])),
      ])
      return try #require(try RequestsReply(parsing: listing.encoded()).requests.first)
    }

    func memory() throws -> DocumentMemory { try #require(json["memory"].flatMap { DocumentMemory($0) }) }

    func remembered(_ name: String) throws -> DocumentMemory {
      try #require(json["shown"]?[name].flatMap { DocumentMemory($0) })
    }

    var pages: [String] { (json["pages"]?.array ?? []).map { String(decoding: $0.encoded(), as: UTF8.self) } }

    func lines(_ name: String) throws -> [String] {
      let items = try #require(json["shown"]?[name]?.array)
      return items.map { Self.plain($0.string ?? "") }
    }

    func text(_ name: String) throws -> String { Self.plain(try #require(json["shown"]?[name]?.string)) }

    /// Without the page's marks of direction, which a terminal has no use for.
    private static func plain(_ text: String) -> String {
      String(String.UnicodeScalarView(text.unicodeScalars.filter { !(0x2066...0x2069).contains($0.value) }))
    }
  }

  let origin: String
  let device: String
  let key: Secret
  let cases: [Case]

  static let written: DocumentVectors? = {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    guard let data = try? Data(contentsOf: tests.appending(path: "Support/Service/document-vectors.json")),
      let file = try? JSON(parsing: Array(data)), let packed = file["vectors"], let texts = file["texts"]?.array
    else { return nil }
    let whole = unpacked(packed, texts)
    guard let origin = whole["origin"]?.string, let phone = whole["phone"], let device = phone["device"]?.string,
      let key = phone["key"]?.string
    else { return nil }
    return DocumentVectors(
      origin: origin, device: device, key: Secret(key), cases: (whole["cases"]?.array ?? []).map(Case.init))
  }()

  static func cases(misfits: Bool) -> [Case] { (written?.cases ?? []).filter { $0.isMisfit == misfits } }

  static func named(_ name: String) throws -> Case {
    try #require(written?.cases.first { $0.testDescription == name })
  }

  /// The administrator's phone, at a service that replies as its script says.
  static func phone(_ service: ScriptedService) throws -> RegisteredPhone {
    let written = try #require(written)
    let account = PhoneAccount(
      server: try ServerURL(written.origin), device: written.device, key: try DeviceKey(exported: written.key),
      application: "office", user: "Alice", authority: nil)
    return RegisteredPhone(account: account, transport: service)
  }

  static func pages(_ texts: [String]) -> [ScriptedService.Step] { texts.map { .reply(200, $0) } }

  /// The file has each long text once: "@N" stands for the one of that number.
  private static func unpacked(_ value: JSON, _ texts: [JSON]) -> JSON {
    switch value {
    case .string(let text):
      guard text.hasPrefix("@"), let number = Int(text.dropFirst()) else { return value }
      return texts[number]
    case .array(let items): return .array(items.map { unpacked($0, texts) })
    case .object(let members): return .object(members.map { JSON.Member($0.name, unpacked($0.value, texts)) })
    case .null, .bool, .integer, .number: return value
    }
  }
}
