/// Why a message was not delivered to a push service.
enum PushProblem: Error, Equatable {
  case nameNotFound(String)
  /// A phone must not make this service connect to addresses that only this service can reach.
  case privateAddress
  case unusualPort
  case noReply
  case replyTooLong
  /// Apple's and Google's services are spoken to by HTTP/2 alone.
  case noHTTP2
  /// The proxy opens no tunnel: with its status, nil if what it answered is not HTTP.
  case proxyRefused(status: Int?)
}
