import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState

/// Whose phones sign this computer's list, for each of its credentials.
@Suite struct FleetTests {
  private let office: SigningOffice
  private var folder: String { office.folder }
  private var state: RunFolder { office.state }

  init() throws { office = try SigningOffice() }

  private func kept(of credential: String) throws -> Fleet? {
    try Fleet.kept(in: folder + "/service", credential: credential)
  }

  @Test func eachCredentialHasItsOwnAdministrators() throws {
    let other = Fleet(
      credential: "other",
      anchor: try #require(FleetAnchor(administrators: office.set, application: "app", group: "lab")))
    _ = try office.fleet.write(in: state)
    #expect(try kept(of: "other") == nil)
    _ = try other.write(in: state)
    #expect(try kept(of: "own") == office.fleet && kept(of: "other") == other)
    try Fleet.forget(except: ["own", "other"], in: state)
    #expect(try kept(of: "own") == office.fleet && kept(of: "other") == other)
    try Fleet.forget(except: ["other"], in: state)
    #expect(try kept(of: "own") == nil && kept(of: "other") == other)
    try Fleet.forget(except: ["third"], in: state)
    #expect(try kept(of: "other") == nil)
    try Fleet.forget(except: ["own"], in: RunFolder(path: folder + "-not-there"))
  }

  /// Otherwise the service alone would be believed where administrators have signed before.
  @Test func withoutItsFileASignedListIsNotBelieved() throws {
    _ = try office.fleet.write(in: state)
    let list = SignedUsers(credential: "own", version: UserListVersion(epoch: 0, number: 1))
    #expect(try list.write(in: state))
    let path = Fleet.path(in: folder + "/service", credential: "own")
    #expect(unlink(path) == 0)
    #expect(throws: FleetError.missing(path: path)) { try kept(of: "own") }
    #expect(try kept(of: "other") == nil)
    // Nobody sees whose list these are.
    let phones = folder + "/service/phones"
    #expect(chmod(phones, 0o644) == 0)
    #expect(throws: FleetError.file(FileError(.readableByOthers, path: phones, mode: 0o644))) {
      try kept(of: "other")
    }
    try AtomicFile.write(Array("# iampass ph".utf8), to: phones, mode: 0o600)
    #expect(throws: FleetError.damaged(path: phones)) { try kept(of: "other") }
    #expect(unlink(phones) == 0)
    #expect(try kept(of: "own") == nil)
  }

  @Test func aDamagedOrMovedFileOfAdministratorsIsRefused() throws {
    _ = try office.fleet.write(in: state)
    let path = Fleet.path(in: folder + "/service", credential: "own")
    try AtomicFile.write(Array("{}".utf8), to: path, mode: 0o644)
    #expect(throws: FleetError.damaged(path: path)) { try kept(of: "own") }
    #expect(try kept(of: "other") == nil)
    // Whose it is stands in it.
    let others = Fleet(credential: "other", anchor: office.fleet.anchor)
    _ = try others.write(in: state)
    #expect(rename(Fleet.path(in: folder + "/service", credential: "other"), path) == 0)
    #expect(throws: FleetError.damaged(path: path)) { try kept(of: "own") }
  }
}
