import Glibc

/// Ends the process if a claim does not hold. The fuzzer keeps the input.
public func must(_ claim: @autoclosure () -> Bool, _ text: @autoclosure () -> String) {
  guard !claim() else { return }
  // With a newline before it: libFuzzer writes its status lines to the same place.
  say("\nnot so: \(text())")
  abort()
}

private func say(_ text: String) {
  let line = Array((text + "\n").utf8)
  _ = write(STDERR_FILENO, line, line.count)
}

/// Something to be fuzzed: a name, and what is looked at with each input.
public struct FuzzTarget: Sendable {
  public let name: String
  public let look: @Sendable ([UInt8]) -> Void

  public init(_ name: String, _ look: @escaping @Sendable ([UInt8]) -> Void) {
    self.name = name
    self.look = look
  }

  /// The one that `FUZZ_TARGET` names; libFuzzer's own command line is its options and folders.
  public static func chosen(among targets: [FuzzTarget]) -> FuzzTarget {
    let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = targets.first(where: { $0.name == name }) else {
      say("FUZZ_TARGET is one of: \(targets.map(\.name).joined(separator: " "))")
      exit(64)
    }
    return target
  }
}

/// An input taken apart: a line of words for the harness, then what is given to the product.
public struct Pieces {
  public let words: [String]
  public let rest: [UInt8]

  public init(_ input: [UInt8]) {
    let end = input.firstIndex(of: UInt8(ascii: "\n")) ?? input.endIndex
    words = input[..<end].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    rest = Array(input[end...].dropFirst())
  }

  /// The number in a word, within bounds; 0 for any other word.
  public func number(_ index: Int, below bound: Int) -> Int {
    guard index < words.count, let number = UInt32(words[index]) else { return 0 }
    return Int(number) % bound
  }
}

extension Sequence<UInt8> {
  public var text: String { String(decoding: Array(self), as: UTF8.self) }
}

/// A folder of this process alone, below the one that `FUZZ_SCRATCH` names; whoever made that one removes it.
public enum ScratchFolder {
  public static let path: String = {
    let parent = getenv("FUZZ_SCRATCH").map { String(cString: $0) } ?? "/dev/shm"
    let path = parent + "/iampass-fuzz-\(getpid())"
    must(mkdir(path, 0o700) == 0, "\(path) cannot be made")
    return path
  }()

  public static func write(_ bytes: [UInt8], to name: String) -> String {
    let file = path + "/" + name
    let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    must(descriptor >= 0, "\(file) cannot be written")
    defer { close(descriptor) }
    must(bytes.isEmpty || Glibc.write(descriptor, bytes, bytes.count) == bytes.count, "\(file) is written in part")
    return file
  }
}
