extension QRPicture {
  /// The pixels of a module's side. A phone's camera can read the code from an arm's length.
  private static let scale = 8

  /// The code as a PNG file (W3C PNG, second edition): one bit a pixel, without compression, so that no library is
  /// needed for a picture of a few kilobytes.
  public func png() -> [UInt8] {
    let side = size * Self.scale
    let header = Self.bigEndian(UInt32(side)) + Self.bigEndian(UInt32(side)) + [1, 0, 0, 0, 0]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Self.chunk("IHDR", header)
      + Self.chunk("IDAT", Self.stored(rows(side))) + Self.chunk("IEND", [])
  }

  /// Rows of bits, 1 for white. Each row follows its filter byte.
  private func rows(_ side: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for y in 0..<side {
      bytes.append(0)
      for start in stride(from: 0, to: side, by: 8) {
        bytes.append(
          (0..<8).reduce(0) { byte, bit in
            let x = start + bit
            let isWhite = x >= side || !isDark(row: y / Self.scale, column: x / Self.scale)
            return byte | (isWhite ? 0x80 >> UInt8(bit) : 0)
          })
      }
    }
    return bytes
  }

  /// zlib's format (RFC 1950) around stored blocks (RFC 1951 §3.2.4).
  private static func stored(_ bytes: [UInt8]) -> [UInt8] {
    let greatestBlock = 65_535
    var text: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: bytes.count, by: greatestBlock) {
      let block = bytes[start..<min(start + greatestBlock, bytes.count)]
      let length = UInt16(block.count)
      text.append(start + block.count == bytes.count ? 1 : 0)
      for number in [length, ~length] { text += [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] }
      text += block
    }
    var (a, b): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      a = (a + UInt32(byte)) % 65_521
      b = (b + a) % 65_521
    }
    return text + bigEndian(b << 16 | a)
  }

  private static func chunk(_ kind: String, _ body: [UInt8]) -> [UInt8] {
    let checked = Array(kind.utf8) + body
    return bigEndian(UInt32(body.count)) + checked + bigEndian(crc32(checked))
  }

  /// CRC-32 of PNG's annex D.
  private static func crc32(_ bytes: [UInt8]) -> UInt32 {
    var crc = UInt32.max
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? 0xEDB8_8320 ^ crc >> 1 : crc >> 1 }
    }
    return ~crc
  }

  private static func bigEndian(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
  }
}
