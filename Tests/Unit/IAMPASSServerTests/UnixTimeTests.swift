import Testing

@testable import IAMPASSServer

struct UnixTimeTests {
  @Test(arguments: [0, 1_800_000_000, 1_709_164_800, 253_402_300_799])
  func readsWhatItWrites(seconds: Int64) {
    let time = UnixTime(seconds: seconds)
    #expect(UnixTime(text: time.text) == time)
  }

  @Test func aDayAloneIsItsBeginning() {
    #expect(UnixTime(text: "2027-01-15")?.text == "2027-01-15T00:00:00Z")
  }

  @Test(arguments: [
    "", "yesterday", "2027-02-31", "2027-1-5", "27-01-15", "2027-01-15T25:00:00Z", "2027-01-15T08:00:00", "2027-01-15 ",
    "1969-12-31", "2027-01-15T08:00:00+01:00", "2027--1-15", "2027-01-15T08:00:00.5Z", "2027-13-01", "+027-01-15",
    "2027--2147483648-1", "99999999999999999999-01-01",
  ])
  func takesNothingElse(text: String) {
    #expect(UnixTime(text: text) == nil)
  }
}
