import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState

/// Whose phones sign this computer's list, for each of its credentials.
@Suite struct FleetTests {
  private let office: SigningFixture
  private var folder: String { office.folder }
  private var state: RunFolder { office.state }

  init() throws { office = try SigningFixture() }

  private func kept(of credential: String) throws -> Fleet? {
    try Fleet.kept(in: folder + "/service", credential: credential)
  }

  private func path(of credential: String) -> String { Fleet.path(in: folder + "/service", credential: credential) }

  private func former(of credential: String?) throws -> Fleet? {
    try Fleet.former(in: folder + "/service", credential: credential)
  }

  /// A set that names the administrator bob.
  private func set(_ number: Int64, after former: AdministratorSet? = nil) throws -> AdministratorSet {
    let previous = number == 1 ? [] : former?.digest ?? [UInt8](repeating: 7, count: 32)
    return try #require(
      AdministratorSet(number: number, previous: previous, keys: [SigningAdministrator("bob").entry]))
  }

  private func told(_ set: AdministratorSet, group: String = "lab") throws -> Fleet {
    Fleet(credential: "new", anchor: try #require(FleetAnchor(administrators: set, application: "app", group: group)))
  }

  @Test func eachCredentialHasItsOwnAdministrators() throws {
    let other = Fleet(
      credential: "other",
      anchor: try #require(FleetAnchor(administrators: office.set, application: "app", group: "lab")))
    _ = try office.fleet.write(in: state)
    _ = try other.write(in: state)
    #expect(try kept(of: "own") == office.fleet && kept(of: "other") == other)
    try Fleet.forget(except: ["own", "other"], in: state)
    #expect(try kept(of: "own") == office.fleet && kept(of: "other") == other)
    try Fleet.forget(except: ["other"], in: state)
    #expect(throws: FleetError.ofOtherCredential(path: path(of: "other"))) { try kept(of: "own") }
    #expect(try kept(of: "other") == other)
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
    for credential in ["own", "other"] {
      #expect(throws: FleetError.damaged(path: path)) { try kept(of: credential) }
    }
    // Whose it is stands in it.
    let others = Fleet(credential: "other", anchor: office.fleet.anchor)
    _ = try others.write(in: state)
    #expect(rename(Fleet.path(in: folder + "/service", credential: "other"), path) == 0)
    #expect(throws: FleetError.damaged(path: path)) { try kept(of: "own") }
  }

  /// The attack: a second credential that nobody has signed for, by a code of the first form.
  @Test func anotherCredentialDoesNotBelieveTheServiceByItself() throws {
    _ = try office.fleet.write(in: state)
    #expect(throws: FleetError.ofOtherCredential(path: path(of: "own"))) { try kept(of: "new") }
    try Fleet.believeService(as: "new", in: state)
    #expect(try kept(of: "new") == nil && kept(of: "own") == office.fleet)
    #expect(throws: FleetError.ofOtherCredential(path: path(of: "own"))) { try kept(of: "third") }
    try Fleet.forget(except: ["new"], in: state)
    #expect(try kept(of: "new") == nil && kept(of: "third") == nil)
  }

  @Test func aComputerThatNobodySignsForHasNoSuchFile() throws {
    try Fleet.believeService(as: "new", in: state)
    #expect(access(path(of: "new"), F_OK) != 0)
    #expect(try kept(of: "new") == nil)
  }

  @Test func whoBelievedTheServiceDoesSoUntilTheNextCredentialIsThere() throws {
    try Fleet.keepBelieving("plain", in: state)
    _ = try office.fleet.write(in: state)
    #expect(try kept(of: "plain") == nil && kept(of: "own") == office.fleet)
    // Whoever does not believe it does not begin to.
    try Fleet.keepBelieving("own", in: state)
    try Fleet.keepBelieving("third", in: state)
    #expect(try kept(of: "own") == office.fleet)
    #expect(throws: FleetError.ofOtherCredential(path: path(of: "own"))) { try kept(of: "third") }
  }

  @Test func aJoinAsksForTheAdministratorsOfBefore() throws {
    #expect(try former(of: nil) == nil && former(of: "own") == nil)
    _ = try office.fleet.write(in: state)
    #expect(try former(of: "own") == office.fleet)
    // After the credential was removed, or another one was written by hand.
    #expect(try former(of: nil) == office.fleet && former(of: "new") == office.fleet)
    let later = try told(try set(2, after: office.set))
    _ = try later.write(in: state)
    #expect(try former(of: nil) == later && former(of: "own") == office.fleet)
    try Fleet.believeService(as: "new", in: state)
    #expect(try former(of: "new") == nil && former(of: nil) == office.fleet)
    try AtomicFile.write(Array("{}".utf8), to: path(of: "own"), mode: 0o644)
    #expect(throws: FleetError.damaged(path: path(of: "own"))) { try former(of: nil) }
  }

  @Test func theAdministratorsOfACodeFollowThoseOfBeforeOrAreRefused() throws {
    let same = try told(office.set)
    #expect(same.succeeding(office.fleet) == same)
    // Who comes later has to prove it: it begins with those of before.
    #expect(try told(set(2, after: office.set)).succeeding(office.fleet) == same)
    #expect(try told(set(5)).succeeding(office.fleet) == same)
    let second = try told(set(2, after: office.set))
    for stranger in [try set(1), office.set, try set(2, after: office.set)] {
      #expect(try told(stranger).succeeding(second) == nil)
    }
    #expect(try told(set(1)).succeeding(office.fleet) == nil)
  }
}
