/// How applications' own apps are rung.
protocol NotificationStore: Sendable {
  /// Uses these settings from now on, in the place of others for the same service.
  ///
  /// - Parameter application: its id, or its name.
  /// - Throws: ``ApplicationRefusal``.
  func setNotifications(_ settings: NotificationSettings, of application: String, at now: UnixTime) async throws

  /// Does not use this service from now on.
  ///
  /// - Returns: false if it was not set.
  /// - Throws: ``ApplicationRefusal``.
  func removeNotifications(_ service: NotificationService, of application: String) async throws -> Bool

  /// What is set, by the services' names; without the keys. Throws ``ApplicationRefusal``.
  func notifications(of application: String) async throws -> [NotificationSummary]
}
