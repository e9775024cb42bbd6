// User objects: what graphs keep alive, given back to the program when the last of them has gone.
#pragma once
#include "client.h"

struct UserObject;

// One reference that a graph holds.
class UserReference {
  public:
    explicit UserReference(UserObject* object);
    UserReference(const UserReference& other) : UserReference(other.object_) {}
    UserReference(UserReference&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
    UserReference& operator=(UserReference other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~UserReference();
    bool refers_to(const UserObject* object) const { return object_ == object; }

  private:
    UserObject* object_;
};
