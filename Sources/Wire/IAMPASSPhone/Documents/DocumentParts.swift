import DeviceProtocol
import IAMPASSProtocol

/// The pages of a document, put together. Only their form is known.
struct DocumentParts {
  /// The greatest number of pages. A list of 100,000 users with the longest names has fewer.
  private static let greatestPageCount = 2_000
  /// The greatest size of all pages in bytes.
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

  /// - Parameter size: the page's size in bytes.
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
    // This is checked before all pages are there: a service could send more than the phone's memory holds.
    guard pageCount <= Self.greatestPageCount, self.size <= Self.greatestSize, sets.count <= Self.greatestSetCount,
      max(entries.count, new.count) <= userCount, other.count <= former?.head.list(of: "").count ?? 0
    else { throw .tooLarge }
  }

  /// The number of users in the new list. Each name may come once.
  private var userCount: Int64 {
    switch document {
    case .users(let head): head.list(of: "").count
    case .administrators: 0
    }
  }
}
