import HostSystem
import IAMPASSProtocol
import WorkerLink

/// The digests that the phone's page must have: the file `page-digests`, which `iampass-server page-digest` prints.
///
/// An attacker who controls the service could serve a page that signs without its user. The attacker could also serve
/// the right page to this computer, and another one to a phone.
package struct PageDigests: Sendable, Equatable {
  /// Bytes of the file.
  static let greatestSize = 16 * 1024
  /// The most files of the page. Each takes one request.
  static let greatestCount = 100
  private static let digestLength = 64
  /// The beginning of each path.
  private static let folder = "phone"

  package struct Line: Sendable, Equatable {
    /// 64 hexadecimal digits.
    package let digest: String
    /// The path below `phone/`; empty for the page itself.
    package let name: String

    package init(digest: String, name: String) {
      self.digest = digest
      self.name = name
    }

    fileprivate init?(_ text: Substring) {
      let parts = text.split(separator: "  ", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0].utf8.count == digestLength, parts[0].utf8.allSatisfy(Self.isHexadecimal),
        parts[1].hasPrefix(folder + "/")
      else { return nil }
      let name = parts[1].dropFirst(folder.count + 1)
      guard name.utf8.allSatisfy(Self.isNameCharacter), !name.hasPrefix(".") else { return nil }
      self.init(digest: String(parts[0]), name: String(name))
    }

    var path: String { folder + "/" + name }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }
  }

  package let lines: [Line]

  /// Nil unless each line has the form that `iampass-server page-digest` prints, and one is for the page itself.
  package init?(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let texts = text.split(separator: "\n", omittingEmptySubsequences: true)
    lines = texts.compactMap(Line.init)
    guard lines.count == texts.count, lines.count <= Self.greatestCount, lines.contains(where: { $0.name.isEmpty })
    else { return nil }
  }

  /// What the service answers at a path.
  package enum Served: Sendable, Equatable {
    case file([UInt8])
    /// The reply's status.
    case refused(Int)
    case unreachable
  }

  /// Findings about the page.
  ///
  /// - Parameter fetch: gets the answer at the path of these parts, below the service's address.
  package func findings(fetch: ([String]) -> Served) -> [Finding] {
    var changed: [String] = []
    for line in lines {
      switch fetch([Self.folder, line.name]) {
      case .file(let bytes) where Digest.hexadecimal(Digest.sha256(bytes)) == line.digest: continue
      case .file, .refused: changed.append(line.path)
      // One part of the page does not prove the others.
      case .unreachable:
        return [Finding(.warning, .service, "the phone's page cannot be compared: \(line.path) is not served in time")]
      }
    }
    guard !changed.isEmpty else { return [Finding(.ok, .service, "the phone's page is the one of page-digests")] }
    return [
      Finding(
        .problem, .service, "the phone's page is not the one of page-digests: \(changed.joined(separator: ", "))",
        hint: "after an upgrade of the service, write page-digests again: iampass-server page-digest; "
          + "otherwise take the service for broken into")
    ]
  }
}

/// Compares the service's page with `page-digests`, if that file exists.
struct PageChecks {
  let path: String
  let server: ServerURL
  let transport: any HTTPTransport

  func findings() -> [Finding] {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try SecureFile.read(path, privacy: .readableByAll, limit: PageDigests.greatestSize)
    } catch {
      return error.code == .missing ? [] : [Finding(.problem, .files, error.explanation, hint: error.hint)]
    }
    guard let digests = PageDigests(bytes) else {
      return [
        Finding(
          .problem, .files, "\(path) is invalid", hint: "write it again, as iampass-server page-digest prints it")
      ]
    }
    let deadline = MonotonicInstant.now().advanced(milliseconds: ServiceChecks.patience)
    return digests.findings { fetch($0, by: deadline) }
  }

  private func fetch(_ path: [String], by deadline: MonotonicInstant) -> PageDigests.Served {
    let request = HTTPRequest(method: .get, url: server.route(path), headers: [])
    do throws(TransportError) {
      let reply = try transport.exchange(request, deadline: deadline)
      return reply.status == 200 ? .file(reply.body) : .refused(reply.status)
    } catch { return .unreachable }
  }
}
