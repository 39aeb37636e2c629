extension Refusal {
  var reply: ServiceReply { .refused(status, reason) }
}
