import Glibc

/// Text that must not be shown: an application's or session's secret, a user's token.
///
/// Prints as `<redacted>`; reading it needs ``exposedValue``, so that a search finds each exposure. The one copy
/// held here is wiped when the last reference goes.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Whether new secrets get pages that core dumps leave out. For the PAM module alone, which must not forbid its host
  /// to leave dumps; our own programs leave none.
  ///
  /// SAFETY: set to true once or more, before any secret that matters; never back.
  nonisolated(unsafe) public static var staysOutOfDumps = false

  private let storage: Storage

  public init(_ text: String) { storage = Storage(Array(text.utf8)) }

  public init(bytes: [UInt8]) { storage = Storage(bytes) }

  /// Copies the bytes; the source stays the caller's to wipe.
  public init(copying source: UnsafeRawBufferPointer) { storage = Storage(source) }

  public var isEmpty: Bool { storage.bytes.isEmpty }

  /// Lends the bytes, followed by a NUL, without a copy that stays behind.
  public func withTerminatedBytes<Result>(_ body: (UnsafeRawPointer) -> Result) -> Result {
    withUnsafeTemporaryAllocation(byteCount: storage.bytes.count + 1, alignment: 1) { copy in
      copy.copyBytes(from: storage.bytes)
      copy[storage.bytes.count] = 0
      // SAFETY: the allocation is never empty and lives through `body`; it is wiped before it goes.
      defer { explicit_bzero(copy.baseAddress!, copy.count) }
      return body(UnsafeRawPointer(copy.baseAddress!))
    }
  }

  /// The secret's text. Copies of it are the caller's to keep short-lived.
  public var exposedValue: String { String(decoding: exposedBytes, as: UTF8.self) }

  /// The secret's UTF-8 bytes.
  public var exposedBytes: [UInt8] { Array(UnsafeRawBufferPointer(storage.bytes)) }

  public var description: String { "<redacted>" }
  public var debugDescription: String { "<redacted>" }
  public var customMirror: Mirror { Mirror(self, children: []) }

  public static func == (left: Secret, right: Secret) -> Bool {
    Digest.areEqual(left.exposedBytes, right.exposedBytes)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(exposedBytes) }

  /// SAFETY: the buffer is written in `init` only, so that sharing it between threads is safe.
  private final class Storage: @unchecked Sendable {
    let bytes: UnsafeMutableBufferPointer<UInt8>
    private let isMapped: Bool

    init(_ source: some Collection<UInt8>) {
      let mapped = Secret.staysOutOfDumps ? Self.pages(source.count) : nil
      isMapped = mapped != nil
      bytes = mapped ?? .allocate(capacity: source.count)
      _ = bytes.initialize(from: source)
    }

    deinit {
      // SAFETY: base and count are this buffer's own; an empty buffer may have no base.
      if let base = bytes.baseAddress { explicit_bzero(base, bytes.count) }
      if isMapped {
        munmap(bytes.baseAddress, bytes.count)
      } else {
        bytes.deallocate()
      }
    }

    /// Nil where the kernel has none to give: a secret in the heap is better than no sign-in.
    private static func pages(_ count: Int) -> UnsafeMutableBufferPointer<UInt8>? {
      guard count > 0, let found = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        found != MAP_FAILED
      else { return nil }
      // Without it in old kernels or odd sandboxes; nothing else depends on it.
      _ = madvise(found, count, MADV_DONTDUMP)
      // SAFETY: the kernel gave at least `count` bytes, aligned to a page, until munmap.
      return UnsafeMutableBufferPointer(start: found.assumingMemoryBound(to: UInt8.self), count: count)
    }
  }
}
