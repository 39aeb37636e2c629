/// Why a push service did not get a message.
enum PushProblem: Error, Equatable {
  case nameNotFound(String)
  /// A phone must not make this service connect to addresses that only this service can reach.
  case privateAddress
  case unusualPort
  case noReply
  case replyTooLong
  /// Apple's and Google's services are spoken to by HTTP/2 alone.
  case noHTTP2
  /// The proxy did not open a tunnel. Has its status; nil if its answer was not HTTP.
  case proxyRefused(status: Int?)
}
