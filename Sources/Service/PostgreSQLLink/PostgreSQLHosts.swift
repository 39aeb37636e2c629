import CPostgreSQL
import Glibc
import Synchronization

/// One of the hosts in an address, by libpq's `host`, `hostaddr` and `port`.
struct PostgreSQLHost: Equatable, Sendable {
  /// The host's name, which its certificate must have, or the folder of a Unix socket.
  var name: String?
  /// The numeric address.
  var address: String?
  var port: String?

  /// libpq's parameters with only this host.
  func replacing(_ parameters: [String: String]) -> [String: String] {
    var parameters = parameters
    (parameters["host"], parameters["hostaddr"], parameters["port"]) = (name, address, port)
    return parameters
  }
}

/// The host at which a database was last found. The connections of a program share it, so that after a failover only
/// the first one waits for a silent host.
public final class LastHost: Sendable {
  private let host = Mutex<PostgreSQLHost?>(nil)

  public init() {}

  func keep(_ found: PostgreSQLHost) { host.withLock { $0 = found } }

  /// The same host with the numeric address that it answered at, if it was the last one that answered.
  func known(_ host: PostgreSQLHost) -> PostgreSQLHost? {
    guard let last = self.host.withLock(\.self), last.address != nil, (last.name, last.port) == (host.name, host.port)
    else { return nil }
    return last
  }

  func first(of hosts: [PostgreSQLHost]) -> [PostgreSQLHost] {
    guard let last = host.withLock(\.self), hosts.contains(last) else { return hosts }
    return [last] + hosts.filter { $0 != last }
  }
}

extension PostgreSQLAddress {
  /// Each numeric address of each host, in order. libpq would also try one after the other, but without a bound for
  /// each.
  ///
  /// resolv.conf bounds the look-up of a name. If a name is not found, its last numeric address is used. If there is
  /// none, libpq reports that the name was not found.
  func hosts(last: LastHost? = nil) -> [PostgreSQLHost] {
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
    return (0..<max(names.count, addresses.count, 1)).flatMap { index -> [PostgreSQLHost] in
      let host = PostgreSQLHost(
        name: Self.entry(index, of: names), address: Self.entry(index, of: addresses),
        port: ports.count == 1 ? Self.entry(0, of: ports) : Self.entry(index, of: ports))
      guard host.address == nil, let name = host.name, !name.hasPrefix("/"), !name.hasPrefix("@") else { return [host] }
      let found = Self.numericAddresses(of: name)
      if found.isEmpty { return [last?.known(host) ?? host] }
      return found.map { PostgreSQLHost(name: name, address: $0, port: host.port) }
    }
  }

  private func list(_ keyword: String) -> [Substring] {
    parameters[keyword]?.split(separator: ",", omittingEmptySubsequences: false) ?? []
  }

  /// Nil if it is empty: libpq then takes its own default.
  private static func entry(_ index: Int, of list: [Substring]) -> String? {
    guard index < list.count, !list[index].isEmpty else { return nil }
    return String(list[index])
  }

  private static func numericAddresses(of name: String) -> [String] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    return sequence(first: list) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap { entry in
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      guard let found = entry?.pointee,
        getnameinfo(found.ai_addr, found.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
      else { return nil }
      return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
  }
}
