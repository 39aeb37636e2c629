/// A time in a header such as `Date` or `Retry-After` (RFC 9110 §5.6.7).
public enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Unix seconds of an IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT`; nil for any other text.
  public static func unixTime(_ text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]), (1...31).contains(day),
      let month = months.firstIndex(of: String(words[2])), let year = Int64(words[3]), (1970...9999).contains(year)
    else { return nil }
    let clock = words[4].split(separator: ":").map { Int64($0) ?? -1 }
    guard clock.count == 3, (0...23).contains(clock[0]), (0...59).contains(clock[1]), (0...60).contains(clock[2])
    else { return nil }
    return daysSinceEpoch(year, Int64(month) + 1, day) * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
  }

  /// Days of the proleptic Gregorian calendar. Years begin in March here, so that leap days come last.
  private static func daysSinceEpoch(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let marchYear = month <= 2 ? year - 1 : year
    let marchMonth = (month + 9) % 12
    let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
    return marchYear * 365 + leapDays + (marchMonth * 306 + 5) / 10 + day - 719_469
  }
}
