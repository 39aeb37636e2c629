import DeviceProtocol
import IAMPASSProtocol

/// The pages of a document, put together. Only their form is known.
struct DocumentParts {
  /// Pages: a list with 100,000 users of the longest names has fewer.
  private static let greatestPageCount = 2_000
  /// Bytes of all pages.
  private static let greatestSize = 64 << 20
  private static let greatestSetCount = 1_000

  let document: SignedDocument
  let former: DocumentPage.Former?
  private(set) var sets: [SignedAdministratorSet] = []
  private(set) var entries: [DocumentPage.Entry] = []
  private(set) var other: [DocumentPage.Entry] = []
  private(set) var new: [String] = []
  private var pageCount = 0
  private var size = 0

  init(first page: DocumentPage, size: Int) throws(DocumentMisfit) {
    guard let document = page.document else { throw .malformed }
    self.document = document
    former = page.former
    try take(page, size: size)
  }

  /// - Parameter size: of the page in bytes.
  mutating func append(_ page: DocumentPage, size: Int) throws(DocumentMisfit) {
    guard page.document == nil, page.former == nil else { throw .malformed }
    try take(page, size: size)
  }

  private mutating func take(_ page: DocumentPage, size: Int) throws(DocumentMisfit) {
    let isEmpty = page.sets.isEmpty && page.entries.isEmpty && page.other.isEmpty && page.new.isEmpty
    guard page.next == nil || page.document != nil || !isEmpty else { throw .tooLarge }
    sets += page.sets
    entries += page.entries
    other += page.other
    new += page.new
    pageCount += 1
    self.size += size
    // Before all pages are there: a service could otherwise send more than the phone has room for.
    guard pageCount <= Self.greatestPageCount, self.size <= Self.greatestSize, sets.count <= Self.greatestSetCount,
      max(entries.count, new.count) <= userCount, other.count <= former?.head.list(of: "").count ?? 0
    else { throw .tooLarge }
  }

  /// Each name of the list may come once.
  private var userCount: Int64 {
    switch document {
    case .users(let head): head.list(of: "").count
    case .administrators: 0
    }
  }
}
