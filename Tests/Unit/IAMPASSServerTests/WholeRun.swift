import Testing

extension TimeLimitTrait.Duration {
  /// For a test that would wait forever if it failed. The clock also runs while the tests beside it have the processors,
  /// which takes 20 minutes on a slow machine.
  static var wholeRun: Self { .minutes(60) }
}
