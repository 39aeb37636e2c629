extension Substring {
  func trimming(_ unwanted: String) -> Substring {
    var text = drop { unwanted.contains($0) }
    while let last = text.last, unwanted.contains(last) { text.removeLast() }
    return text
  }
}
