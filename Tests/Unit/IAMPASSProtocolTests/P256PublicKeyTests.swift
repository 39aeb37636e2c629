import IAMPASSProtocol
import Testing

@Suite struct P256PublicKeyTests {
  private static let p = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"
  private static let zero = String(repeating: "0", count: 64)
  /// The generator's x and y (SP 800-186, §3.2.1.3).
  private static let generator = [
    "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
  ]
  /// A root of b: the point's x is 0.
  private static let rootOfB = "66485c780e2f83d72433bd5d84a06bb6541c2af31dae871728bf856a174f93f4"

  private func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = Array(hexadecimal)
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<($0 + 2)]), radix: 16) }
  }

  private func key(_ coordinates: [UInt8]) -> P256PublicKey? { P256PublicKey(point: [4] + coordinates) }

  @Test(
    arguments: [
      generator,
      [
        "7cf27b188d034f7e8a52380304b51ac3c08969e277f21b35a60b48fc47669978",
        "07775510db8ed040293d9ac69f7430dbba7dade63ce982299e04b79d227873d1",
      ],
      [
        "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6",
        "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
      ],
      [zero, rootOfB], [zero, "99b7a386f1d07c29dbcc42a27b5f9449abe3d50de25178e8d7407a95e8b06c0b"],
      [String(repeating: "0", count: 63) + "5", "459243b9aa581806fe913bce99817ade11ca503c64d9a3c533415c083248fbcc"],
    ])
  func aPointOfTheCurveIsAKey(_ numbers: [String]) throws {
    let read = try #require(key(bytes(numbers.joined())))
    #expect(P256PublicKey(read.text) == read)
  }

  /// The last ones are points of the curve, written with numbers that are not below p.
  @Test(
    arguments: [
      [zero, zero], [p, p], [generator[1], generator[0]],
      [String(repeating: "f", count: 64), String(repeating: "f", count: 64)],
      [generator[0], zero], [p, rootOfB],
      [
        "ffffffff00000001000000000000000000000001000000000000000000000004",
        "459243b9aa581806fe913bce99817ade11ca503c64d9a3c533415c083248fbcc",
      ],
    ])
  func otherNumbersAreNoKey(_ numbers: [String]) { #expect(key(bytes(numbers.joined())) == nil) }

  @Test func oneWrongBitIsEnough() {
    let right = bytes(Self.generator.joined())
    for place in 0..<512 {
      var wrong = right
      wrong[place / 8] ^= 1 << UInt8(place % 8)
      #expect(key(wrong) == nil, "bit \(place)")
    }
  }

  @Test func anotherLengthOrFormIsRefused() {
    let right = bytes(Self.generator.joined())
    #expect(P256PublicKey(point: right) == nil)
    #expect(P256PublicKey(point: [2] + right) == nil)
    #expect(P256PublicKey(point: [4] + right.dropLast()) == nil)
    #expect(P256PublicKey(point: [4] + right + [0]) == nil)
  }
}
