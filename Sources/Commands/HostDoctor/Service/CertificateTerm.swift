/// The time left on the service's certificate.
public enum CertificateTerm {
  /// Fewer days than this give a warning. A working renewal comes earlier: Let's Encrypt's clients renew 30 days before
  /// the end.
  public static let warningDays: Int64 = 14

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Parses openssl's `notAfter=Nov  7 08:15:20 2026 GMT` to Unix seconds; nil for other texts.
  public static func end(_ output: String) -> Int64? {
    guard let line = output.split(separator: "\n").first(where: { $0.hasPrefix("notAfter=") }) else { return nil }
    let words = line.dropFirst("notAfter=".count).split(separator: " ")
    guard words.count == 5, words[4] == "GMT", let month = months.firstIndex(of: String(words[0])),
      let day = Int64(words[1]), (1...31).contains(day), let year = Int64(words[3]), (1970...9999).contains(year)
    else { return nil }
    let clock = words[2].split(separator: ":").compactMap { Int64($0) }
    guard clock.count == 3 else { return nil }
    // The years begin in March here, so that leap days come last.
    let (y, m) = month < 2 ? (year - 1, Int64(month) + 10) : (year, Int64(month) - 2)
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 + day - 719_469
    return days * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
  }

  public static func finding(end: Int64, now: Int64) -> Finding {
    let days = (end - now) / 86_400
    if end <= now {
      return Finding(.problem, .network, "the service's certificate has expired", hint: "renew it at the service")
    }
    if days < warningDays {
      return Finding(
        .warning, .network, "the service's certificate ends in \(Words.counted(Int(days), "day"))",
        hint: "renew it at the service")
    }
    return Finding(.ok, .network, "the service's certificate is good for \(days) days")
  }
}
