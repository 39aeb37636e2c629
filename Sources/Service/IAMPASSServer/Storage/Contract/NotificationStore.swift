/// The notification settings of applications' own apps.
protocol NotificationStore: Sendable {
  /// Uses these settings from now on, in place of earlier ones for the same service.
  ///
  /// - Parameter application: its id, or its name.
  /// - Throws: ``ApplicationRefusal``.
  func setNotifications(_ settings: NotificationSettings, of application: String, at now: UnixTime) async throws

  /// Removes the settings of this service.
  ///
  /// - Returns: false if there were none.
  /// - Throws: ``ApplicationRefusal``.
  func removeNotifications(_ service: NotificationService, of application: String) async throws -> Bool

  /// The settings without the keys, sorted by service. Throws ``ApplicationRefusal``.
  func notifications(of application: String) async throws -> [NotificationSummary]
}
