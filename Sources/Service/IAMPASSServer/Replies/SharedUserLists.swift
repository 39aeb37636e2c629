/// Pages of lists of users, each read once for all computers that ask for it at the same time.
///
/// A change of a list wakes all computers of its application at once, and nearly all of them have the same version. If
/// each read its own page, thousands of reads would wait for the database, before sign-ins. Whoever asks is answered by
/// a read that begins afterwards.
final class SharedUserLists: Sendable {
  private let plain: SharedTurns<UserListQuery, Result<UserListView, any Error>>
  private let signed: SharedTurns<SignedListQuery, Result<SignedListView, any Error>>

  init(_ storage: any ServiceStorage) {
    plain = SharedTurns { queries in
      await Self.eachOnce(queries) { query in try await storage.userListPage(query) }
    }
    signed = SharedTurns { queries in
      await Self.eachOnce(queries) { query in
        try await storage.seeSigning { rows in SignedListView(page: try query.page(rows), mark: try rows.mark()) }
      }
    }
  }

  /// How many wait for the next read to begin.
  var waiting: Int { plain.waiting + signed.waiting }

  func page(_ query: UserListQuery) async throws -> UserListView {
    var shared = query
    shared.requester = ""
    return try await plain.value(of: shared).get().told(to: query.requester)
  }

  func page(_ query: SignedListQuery) async throws -> SignedListView {
    var shared = query
    shared.requester = ""
    var view = try await signed.value(of: shared).get()
    view.page.requester = query.requester
    return view
  }

  /// Reads a page for each different query. One that fails fails for those who asked it alone.
  ///
  /// - Returns: a page for each query, in their order.
  private static func eachOnce<Query: Hashable & Sendable, Page: Sendable>(
    _ queries: [Query], _ read: @escaping @Sendable (Query) async throws -> Page
  ) async -> [Result<Page, any Error>] {
    let pages = await withTaskGroup(
      of: (Query, Result<Page, any Error>).self, returning: [Query: Result<Page, any Error>].self
    ) { group in
      for query in Set(queries) {
        group.addTask {
          do { return (query, .success(try await read(query))) } catch { return (query, .failure(error)) }
        }
      }
      var pages: [Query: Result<Page, any Error>] = [:]
      for await (query, page) in group { pages[query] = page }
      return pages
    }
    return queries.compactMap { pages[$0] }
  }
}
