import FuzzKit
import IAMPASSProtocol

@testable import HostState
@testable import HostSystem
@testable import IAMPASSClient
@testable import WorkerLink

/// Credentials are taken only where both lines stand there once and plain; and they sign, or it is said that they cannot.
func fuzzCredentials(_ text: [UInt8]) {
  let path = ScratchFolder.write(text, to: "credentials")
  let expected = ["application_id", "application_secret"].map { plainReading(text, key: $0) }
  let credential: ServiceCredential
  do {
    credential = try ServiceCredential(path: path)
  } catch {
    must(!error.explanation(path: "FILE").isEmpty, "a refusal without a word")
    // Other lines, too, may be what is refused.
    if case .missing(let key) = error { must(plainReading(text, key: key) ?? "" == "", "\(key) is there") }
    return
  }
  must(expected == [credential.applicationID, credential.secret.exposedValue], "another credential than is written")
  must(credential.host == plainReading(text, key: "host"), "another host than is written")
  must(isPlainWord(credential.applicationID), "an id that cannot stand in a header")
  must(isPlainWord(credential.secret.exposedValue), "a secret with blanks is accepted")
  let anew = "application_secret=\(credential.secret.exposedValue)\napplication_id = \(credential.applicationID)\n"
  let again = try? ServiceCredential(path: ScratchFolder.write(Array(anew.utf8), to: "credentials"))
  must(
    again?.applicationID == credential.applicationID && again?.secret == credential.secret,
    "read otherwise than written")
  let signer = try? RequestSigner(clientID: credential.applicationID, secret: credential.secret, scheme: .documented)
  must((signer != nil) == isDocumentedSecret(credential.secret.exposedValue), "a secret of another length signs")
}

/// The value of the only line that begins with this key; nil without such a line, or with several.
private func plainReading(_ text: [UInt8], key: String) -> String? {
  let values = text.split(separator: UInt8(ascii: "\n")).map { trimmed($0) }.filter {
    $0.starts(with: key.utf8) && trimmed($0.dropFirst(key.utf8.count)).first == UInt8(ascii: "=")
  }
  guard values.count == 1, let line = values.first else { return nil }
  return trimmed(trimmed(line.dropFirst(key.utf8.count)).dropFirst()).text
}

private func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
  let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
  let front = text.drop(while: isSpace)
  return front.prefix((front.lastIndex { !isSpace($0) } ?? front.startIndex - 1) - front.startIndex + 1)
}
