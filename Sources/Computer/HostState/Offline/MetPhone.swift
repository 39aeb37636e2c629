import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// A phone's key for agreement, the key that signed it, and when the phone last approved.
struct MetPhone: Equatable {
  private static let version: Int64 = 1
  private static let times: ClosedRange<Int64> = 0...253_402_300_799
  /// How long a phone counts after its last approval with the service, in seconds. The service may have revoked it
  /// since.
  static let lifetime: Int64 = 30 * 86_400
  /// How far the wall clock may be behind the time of the approval, in seconds. The service accepts such clocks too.
  static let clockWindow: Int64 = 300
  /// The age, in seconds, from which the time is written again. So not each sign-in waits for the disk.
  private static let renewal: Int64 = 86_400

  let user: UnixUsername
  let phone: String
  let signingKey: P256PublicKey
  let agreementKey: P256PublicKey
  /// When the service last reported an approval of the phone, in seconds since 1970; 0 in a file of an older version.
  let seen: Int64

  /// Why the phone does not count; nil if it does.
  func fault(at now: Int64) -> OfflineError? {
    if now < seen - Self.clockWindow { return .clockBehind }
    return now - seen > Self.lifetime ? .notSeenLately : nil
  }

  /// Whether this is the same as `other`, with a time that is not much older.
  func isCurrent(besides other: MetPhone) -> Bool {
    user == other.user && phone == other.phone && signingKey == other.signingKey && agreementKey == other.agreementKey
      && (seen...(seen + Self.renewal)).contains(other.seen)
  }

  init(user: UnixUsername, phone: PinnedPhone, agreementKey: P256PublicKey, seen: Int64) {
    self.seen = seen
    self.user = user
    self.phone = phone.id
    signingKey = phone.key
    self.agreementKey = agreementKey
  }

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "user": .string(user.text), "phone": .string(phone),
      "public_key": .string(signingKey.text), "agreement_key": .string(agreementKey.text),
      "seen": .integer(seen),
    ]).encoded()
  }

  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
      let user = json["user"]?.string.flatMap({ UnixUsername(validating: $0) }), let phone = json["phone"]?.string,
      let signingKey = json["public_key"]?.string.flatMap({ P256PublicKey($0) }),
      let agreementKey = json["agreement_key"]?.string.flatMap({ P256PublicKey($0) })
    else { return nil }
    let seen = json["seen"]?.integer ?? 0
    guard Self.times.contains(seen) else { return nil }
    self.seen = seen
    self.user = user
    self.phone = phone
    self.signingKey = signingKey
    self.agreementKey = agreementKey
  }
}
