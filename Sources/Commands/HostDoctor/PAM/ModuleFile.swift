import Glibc

/// Where libpam looks for modules on Debian and its relatives.
package enum ModuleFile {
  package static func find(_ module: String) -> String? {
    if module.hasPrefix("/") { return access(module, F_OK) == 0 ? module : nil }
    var folders = ["/usr/lib/security", "/lib/security", "/usr/lib64/security", "/lib64/security"]
    for architecture in ["x86_64", "aarch64", "riscv64", "powerpc64le", "s390x"] {
      folders.append("/usr/lib/\(architecture)-linux-gnu/security")
      folders.append("/lib/\(architecture)-linux-gnu/security")
    }
    for architecture in ["arm-linux-gnueabihf", "i386-linux-gnu"] {
      folders.append("/usr/lib/\(architecture)/security")
    }
    return folders.map { "\($0)/\(module)" }.first { access($0, F_OK) == 0 }
  }
}
