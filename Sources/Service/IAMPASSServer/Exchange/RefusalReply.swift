extension Refusal {
  var reply: ServiceReply { .refused(reason) }
}
