import Glibc
import HostState
import HostSystem
import PAMStacks

/// A line in force that names the module, or this product's security keys.
public struct ModuleLine: Sendable, Equatable {
  public let path: String
  /// The line's number, counted from 1.
  public let number: Int
  /// The line's text, unchanged.
  public let text: String

  public init(path: String, number: Int, text: String) {
    self.path = path
    self.number = number
    self.text = text
  }

  public var place: String { "\(path):\(number)" }
}

/// PAM's files of all services.
public enum PAMFiles {
  /// The places where libpam may look (pam.conf(5)).
  public static let places = ["/etc/pam.d", "/usr/lib/pam.d", "/etc/pam.conf"]
  /// Endings of copies that programs leave. They do not belong to services.
  private static let copies = [".pam-old", ".bak", ".orig", ".old", ".save", ".swp", ".swo", "~"]
  /// The deepest level that is read, because links may lead in a circle.
  private static let greatestDepth = 8

  /// Texts that only this product's lines have: the module, the origin of our security keys, and their mapping.
  private static let marks = [StackJudgement.module, SecurityKeyFiles.origin, "/etc/iampass/security-key"]

  /// Lines that name the module or its security keys, as the package's removal searches for them
  /// (packaging/debian/libpam-iampass.prerm). Vendor files that an administrator's file hides count too: they come into
  /// force if that file is removed.
  public static func moduleLines(in places: [String] = PAMFiles.places) -> [ModuleLine] {
    places.flatMap { files(at: $0, depth: 0) }.flatMap { path in
      moduleLines(PAMReader.readFile(path) ?? [], path: path)
    }
  }

  /// Sorted names of possible services in a folder. For the administrator's folder the vendor's folder is read too.
  public static func names(in folder: String) -> [String] {
    let folders = [folder] + [PAMReader.vendorFolders[folder]].compactMap(\.self)
    return Set(folders.flatMap { entries(of: $0) }).filter { !isCopy($0) }.sorted()
  }

  private static func moduleLines(_ bytes: [UInt8], path: String) -> [ModuleLine] {
    var lines: [ModuleLine] = []
    var number = 0
    for raw in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let text = String(decoding: raw.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
      if marks.contains(where: text.contains) { lines.append(ModuleLine(path: path, number: number, text: text)) }
    }
    return lines
  }

  private static func files(at path: String, depth: Int) -> [String] {
    var found = stat()
    guard depth < greatestDepth, stat(path, &found) == 0 else { return [] }
    switch found.st_mode & S_IFMT {
    case S_IFREG: return [path]
    case S_IFDIR:
      return entries(of: path).filter { !isCopy($0) }.sorted().flatMap { files(at: path + "/" + $0, depth: depth + 1) }
    default: return []
    }
  }

  static func isCopy(_ name: String) -> Bool {
    name.contains(".dpkg-") || name.contains(".ucf-") || copies.contains { name.hasSuffix($0) }
  }

  static func entries(of folder: String) -> [String] {
    (try? FolderListing.names(in: folder))?.filter { $0 != "." && $0 != ".." } ?? []
  }
}
