#pragma once
#include "../../../evo/torch.h"
#include "../../../evo/atomic.h"
