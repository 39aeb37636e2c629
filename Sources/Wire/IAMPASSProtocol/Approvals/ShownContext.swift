/// The parts of a sign-in that a phone showed, in the order received.
public enum ShownContext {
  /// 64 hexadecimal digits: SHA-256 of the context's canonical JSON.
  public static func hash(_ context: SignInContext) -> String {
    Digest.hexadecimal(Digest.sha256(context.json.canonicallyEncoded()))
  }
}
