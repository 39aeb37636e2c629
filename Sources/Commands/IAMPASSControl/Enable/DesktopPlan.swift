import CommandSupport
import HostDoctor
import HostState
import PAMStacks

/// The lines of `enable --desktop` about the programs that it finds.
enum DesktopPlan {
  static func say(keyring: KeyringPolicy) {
    let files = PAMReader(folder: PAMProfiles.folder)
    let found = DesktopServices.all.filter { files.has($0) }
    if found.isEmpty { Terminal.complain("warning: no greeter, screen locker or polkit was found") }
    for service in found { Terminal.say("\(service): \(act(service, keyring))") }
    if LightLocker.isUsed(hasGreeter: files.has("lightdm")) {
      Terminal.say("\(LightLocker.program): brings lightdm's greeter, which asks the phone")
    }
    for service in DesktopServices.all where !found.contains(service) {
      guard let finding = LockerWithoutFile.finding(service, folder: PAMProfiles.folder) else { continue }
      Terminal.complain("warning: \(finding.text)")
      if let hint = finding.hint { Terminal.complain("hint: \(hint)") }
    }
  }

  private static func act(_ service: String, _ keyring: KeyringPolicy) -> String {
    if service == DesktopServices.polkit { return "the administrator's dialog asks the phone, through iampass-broker" }
    if DesktopServices.isLocker(service) {
      let code = "; it shows no digits, so the phone asks for none"
      return "an approval unlocks the screen; without root's rights through iampass-broker"
        + (ServiceTable.row(service)?.shows == .nothing ? code : "")
    }
    return "an approval signs in at the greeter; the keyring "
      + (keyring == .sealed ? "gets the sealed password" : "stays locked")
  }
}
