import Foundation
import Logging
import NIOSSL
import Testing

@testable import IAMPASSServer

/// A folder with a certificate and its key, made by openssl(1) as an administrator would.
private final class CertificateFolder {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("iampass-tls-\(UUID().uuidString)")
  var certificate: String { folder.appendingPathComponent("cert.pem").path }
  var key: String { folder.appendingPathComponent("key.pem").path }

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: folder) }

  func makePair(certificate: String? = nil, key: String? = nil) throws {
    let words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    // Not Foundation's Process, which sometimes fails with many open files.
    try #require(system("\(words) -keyout \(key ?? self.key) -out \(certificate ?? self.certificate) 2>/dev/null") == 0)
  }
}

@Suite struct TLSFilesTests {
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  private let pair: CertificateFolder
  private let files: TLSFiles

  init() throws {
    pair = try CertificateFolder()
    try pair.makePair()
    files = try TLSFiles(certificate: pair.certificate, key: pair.key)
  }

  private var shown: [NIOSSLCertificateSource] { files.configuration.certificateChain }
  private func written() throws -> [NIOSSLCertificateSource] {
    try NIOSSLCertificate.fromPEMFile(pair.certificate).map { .certificate($0) }
  }

  @Test func takesARenewedPairWhenTold() throws {
    let before = shown
    try pair.makePair()
    #expect(files.renew(logger: logger) == .taken)
    #expect(try shown == written())
    #expect(shown != before)
  }

  @Test func saysWhereNothingHasChanged() throws {
    #expect(files.renew(logger: logger) == .unchanged)
  }

  @Test func keepsTheOldPairWhileTheNewOneDoesNotFitTogether() throws {
    let before = shown
    try pair.makePair(key: pair.folder.appendingPathComponent("other.pem").path)
    guard case .notTaken = files.renew(logger: logger) else {
      Issue.record("a certificate was taken without its key")
      return
    }
    #expect(shown == before)
  }

  @Test func takesThePairOnceItsSecondFileIsThere() throws {
    let other = pair.folder.appendingPathComponent("other.pem").path
    try pair.makePair(key: other)
    _ = files.renew(logger: logger)
    try Data(contentsOf: URL(fileURLWithPath: other)).write(to: URL(fileURLWithPath: pair.key))
    #expect(files.renew(logger: logger) == .taken)
    #expect(try shown == written())
  }
}
