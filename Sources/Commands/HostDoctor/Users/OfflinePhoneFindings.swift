import HostState
import HostSystem
import IAMPASSProtocol

/// Findings about phones that can approve without the service (`methods_offline = phone`).
struct OfflinePhoneFindings {
  let methods: OfflineMethods
  /// The listed PAM services of this computer.
  let services: [String]
  /// Nil unless this computer verifies approvals.
  let phones: OfflinePhones?
  /// Users with a token.
  let users: [String]
  /// `/etc/iampass/page-digests`, and whether it is there.
  let pageDigests: (path: String, isThere: Bool)

  var findings: [Finding] {
    let taking = services.filter { methods.takes(.phone, $0) }
    guard !taking.isEmpty else { return [] }
    guard let phones else {
      return [
        Finding(
          .problem, .configuration, "methods_offline = phone takes nothing: this computer knows no phone's keys",
          hint: "set approvals = verified, or take phone out of methods_offline")
      ]
    }
    let ok = Finding(
      .ok, .configuration, "without the service, \(taking.joined(separator: ", ")) take digits of phones")
    return [ok] + pageFindings + userFindings(phones)
  }

  /// A warning if `page-digests` is missing: digits prove only what the phone's page has shown and done, so the page must
  /// be genuine.
  private var pageFindings: [Finding] {
    guard !pageDigests.isThere else { return [] }
    return [
      Finding(
        .warning, .files, "digits of phones rest on the phone's page, which nothing is compared with",
        hint: "at the service: iampass-server page-digest; write its lines into \(pageDigests.path)")
    ]
  }

  private func userFindings(_ phones: OfflinePhones) -> [Finding] {
    var without: [String] = []
    do throws(OfflineError) {
      for user in users {
        guard let name = UnixUsername(validating: user) else { continue }
        do throws(OfflineError) {
          if try phones.phones(of: name).isEmpty { without.append(user) }
        } catch .notSeenLately { without.append(user) }
      }
    } catch {
      return [
        Finding(
          .problem, .files, error.explanation, hint: "mend the file, or remove it: the next approval makes it again")
      ]
    }
    guard !without.isEmpty else { return [] }
    return [
      Finding(
        .warning, .users, "no phone that could approve without the service: \(UserFindings.list(without))",
        hint: "sign in once by phone on this computer, with the phone's page opened again before")
    ]
  }
}
