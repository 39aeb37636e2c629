/// A time span as the configuration writes it.
public enum TimeSpan {
  /// The seconds in `45s`, `15m`, `12h` or a plain number; nil for other texts.
  public static func seconds(_ text: String) -> Int64? {
    let unit: Int64? =
      switch text.last {
      case "s": 1
      case "m": 60
      case "h": 3600
      default: nil
      }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard !digits.isEmpty, digits.utf8.count <= 9, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int64(digits)
    else { return nil }
    return number * (unit ?? 1)
  }
}
