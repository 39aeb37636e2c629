import IAMPASSClient
import IAMPASSProtocol

/// A phone whose keys are proven to be its own. The service alone cannot forge one.
struct ProvenPhone {
  let phone: UserPhonesReply.Phone

  /// Nil unless the phone's MAC shows that it opened this link.
  init?(_ phone: UserPhonesReply.Phone, by link: PinningLink) {
    guard let mac = phone.pinMAC, link.proves(phone.keys, by: mac) else { return nil }
    self.phone = phone
  }

  /// Nil unless these are the six words that the phone shows.
  ///
  /// - Parameter words: the words as typed, in upper or lower case and with any white space.
  init?(_ phone: UserPhonesReply.Phone, words: String) {
    let typed = words.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard Digest.areEqual(Array(typed.utf8), Array(phone.keys.words.utf8)) else { return nil }
    self.phone = phone
  }
}
