import Glibc

/// Text that must never be shown: a secret of an application or session, or a user's token.
///
/// Prints as `<redacted>`. Reading it needs ``exposedValue``, so that a search finds each exposure. The single copy
/// held here is wiped with the last reference.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Whether core dumps leave out the pages of new secrets. Only the PAM module needs this, since it must not stop its
  /// host's core dumps. Our own programs disable their dumps.
  ///
  /// SAFETY: set to true before the first important secret, perhaps repeatedly; never set back.
  nonisolated(unsafe) public static var staysOutOfDumps = false

  private let storage: Storage

  public init(_ text: String) { storage = Storage(Array(text.utf8)) }

  public init(bytes: [UInt8]) { storage = Storage(bytes) }

  /// Copies the bytes. The caller wipes the source.
  public init(copying source: UnsafeRawBufferPointer) { storage = Storage(source) }

  public var isEmpty: Bool { storage.bytes.isEmpty }

  /// Lends the bytes, followed by a NUL, and leaves no copy behind.
  public func withTerminatedBytes<Result>(_ body: (UnsafeRawPointer) -> Result) -> Result {
    withUnsafeTemporaryAllocation(byteCount: storage.bytes.count + 1, alignment: 1) { copy in
      copy.copyBytes(from: storage.bytes)
      copy[storage.bytes.count] = 0
      // SAFETY: the allocation is never empty, outlives `body`, and is wiped before it is freed.
      defer { explicit_bzero(copy.baseAddress!, copy.count) }
      return body(UnsafeRawPointer(copy.baseAddress!))
    }
  }

  /// The secret's text. The caller keeps copies short-lived.
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

  /// SAFETY: only `init` writes the buffer, so that threads may share it.
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

    /// Nil if the kernel has no such pages. A secret in the heap is better than a failed sign-in.
    private static func pages(_ count: Int) -> UnsafeMutableBufferPointer<UInt8>? {
      guard count > 0, let found = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        found != MAP_FAILED
      else { return nil }
      // Old kernels and some sandboxes refuse this. Everything else works without it.
      _ = madvise(found, count, MADV_DONTDUMP)
      // SAFETY: the kernel gave at least `count` bytes, aligned to a page, until munmap.
      return UnsafeMutableBufferPointer(start: found.assumingMemoryBound(to: UInt8.self), count: count)
    }
  }
}
